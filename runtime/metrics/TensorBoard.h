// --tensorboard: an event file of scalars.
#ifndef SHARDC_RUNTIME_METRICS_TENSORBOARD_H
#define SHARDC_RUNTIME_METRICS_TENSORBOARD_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/RecordFile.h"
#include "runtime/metrics/Terminal.h"
#include "runtime/metrics/tensorboard.pb.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// A record of a TFRecord file: its length, the data, and a checksum of each.
std::string tfRecord(std::string_view data);

/// Steps are counted as on the console: the first one's figures are of step 1,
/// as an evaluation behind it is.
class TensorBoard : public MetricsSink {
public:
  /// Makes the folder and, in it, a file of this run alone; both go again where
  /// the run does not begin. Throws an Error with the path.
  TensorBoard(Terminal &terminal, const std::string &folder);
  ~TensorBoard() override;

  const std::string &path() const { return file; }

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void end(const EndFigures &figures) override;

private:
  void write(int64_t step,
             const std::vector<std::pair<std::string, double>> &scalars);
  void write(const tensorboard::Event &event);

  Terminal &terminal;
  std::string folder, file;
  bool madeFolder = false, begun = false;
  std::optional<RecordFile> records;
  std::string unit;
};

} // namespace shardc::runtime

#endif

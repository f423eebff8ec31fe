// --metrics: every record as a line of JSON.
#ifndef SHARDC_RUNTIME_METRICS_JSONLINES_H
#define SHARDC_RUNTIME_METRICS_JSONLINES_H

#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <optional>
#include <string>

namespace shardc::runtime {

class JsonLines : public MetricsSink {
public:
  /// Opens the file as MetricsFile does.
  JsonLines(Terminal &terminal, const std::string &path,
            std::optional<int64_t> goesOnAt);

  /// Where the lines of the earlier run are now; empty: there were none.
  const std::string &earlierRun() const { return file.earlierRun(); }

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void checkpoint(const CheckpointFigures &figures) override;
  void end(const EndFigures &figures) override;
  /// The run of an MLflow server that has these lines as well.
  void mlflowRun(int64_t stepsDone, const std::string &id);

private:
  void write(const nlohmann::ordered_json &line);

  Terminal &terminal;
  MetricsFile file;
  std::string unit;
};

} // namespace shardc::runtime

#endif

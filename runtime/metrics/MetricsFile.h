// --metrics, --log-samples: one JSON object per line, written as it happens.
#ifndef SHARDC_RUNTIME_METRICS_METRICSFILE_H
#define SHARDC_RUNTIME_METRICS_METRICSFILE_H

#include "runtime/files/Descriptor.h"
#include "runtime/metrics/RecordFile.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace shardc::runtime {

/// The file is this run's alone: it is locked (flock) while the run goes on,
/// and the lines of an earlier run are kept under another name. What cannot be
/// written is lost, not the run.
class MetricsFile {
public:
  /// Creates the file. Lines of an earlier run that are there become PATH.N,
  /// with the lowest N from 1 on that is free. Throws an Error with the path
  /// where it cannot be written, another process writes to it, or it holds
  /// something else than metrics.
  /// `goesOnAt`: the run goes on with that step (counted from 0): the lines up
  /// to it stay, and the file is continued.
  /// `what`: of the lines, for errors.
  explicit MetricsFile(const std::string &given,
                       std::optional<int64_t> goesOnAt = std::nullopt,
                       std::string what = "metrics");

  /// Where the lines of the earlier run are now; empty: there were none.
  const std::string &earlierRun() const { return keptAs; }

  /// Writes a line at once, whole or not at all; numbers keep all their digits.
  /// Returns why this line is the first that cannot be written, "" otherwise.
  [[nodiscard]] std::string write(const nlohmann::ordered_json &object);
  /// How many lines are lost, and why: the end of a run says it. Empty: none.
  std::string lossText() const;

private:
  void open(std::optional<int64_t> goesOnAt);
  void checkEarlierRun();
  void keepEarlierRun();
  void cutBehind(int64_t step);

  std::string path;  // behind links
  std::string shown; // as given
  std::string what;
  std::string keptAs;
  Descriptor file; // until it is that of the records
  std::optional<RecordFile> records;
};

} // namespace shardc::runtime

#endif

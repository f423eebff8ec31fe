// --html: a page that shows a run.
#ifndef SHARDC_RUNTIME_METRICS_HTMLPAGE_H
#define SHARDC_RUNTIME_METRICS_HTMLPAGE_H

#include "runtime/metrics/Curve.h"
#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// One file, which holds the run as JSON and the script that draws it
/// (page.html). It is always whole: each of its states replaces the one before,
/// a minute later, when a checkpoint is there, and at the end.
class HtmlPage : public MetricsSink {
public:
  struct Facts {
    /// What the run is, and bytes by pool; for people.
    std::vector<std::pair<std::string, std::string>> description;
    std::vector<std::pair<std::string, int64_t>> memory;
    std::string command;
  };
  /// `goesOn`: the curves of the page that is there are continued. Throws an
  /// Error with the path where it cannot be written.
  HtmlPage(Terminal &terminal, std::string path, Facts facts, bool goesOn);
  /// Where the run has not come to its end, it has failed.
  ~HtmlPage() override;

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void checkpoint(const CheckpointFigures &figures) override;
  void end(const EndFigures &figures) override;

  /// As it would be written now.
  std::string text() const;

private:
  void readFormer();
  nlohmann::ordered_json json() const;
  void writeSometimes();
  void write();

  Terminal &terminal;
  std::string path;
  Facts facts;
  bool goesOn;
  RunFigures run;
  std::string status; // empty: the run has not begun
  double started = 0; // seconds since 1970
  int64_t stepsDone = 0;
  std::map<std::string, Curve> curves;
  /// What the run's time went to.
  std::map<std::string, double> seconds;
  double before = 0;              // of earlier parts of the run
  double begun = 0, written = 0;  // by monotonicSeconds()
  nlohmann::ordered_json profile; // milliseconds of a step, by kind of work
  bool warned = false;
};

} // namespace shardc::runtime

#endif

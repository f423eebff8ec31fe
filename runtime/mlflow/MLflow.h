// Figures of a run as metrics of an MLflow run.
#ifndef SHARDC_RUNTIME_MLFLOW_MLFLOW_H
#define SHARDC_RUNTIME_MLFLOW_MLFLOW_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"
#include "runtime/mlflow/Sender.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Each number of a line of --metrics is a metric of that name, those of an
/// evaluation with eval_ before it.
class MLflow : public MetricsSink {
public:
  struct Surroundings {
    /// Told once which run it is.
    std::function<void(int64_t stepsDone, const std::string &id)> onRun;
    /// The files that have been exported.
    std::function<std::vector<std::string>()> exports;
    std::string lines; // the file of --metrics; empty: none
  };
  MLflow(Terminal &terminal, const MLflowSettings &settings,
         std::unique_ptr<MLflowServer> server, MLflowDescription description,
         Surroundings surroundings);
  /// Where the run has not come to its end, it has failed.
  ~MLflow() override;

  /// Empty: not known yet.
  std::string runId() const;

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void end(const EndFigures &figures) override;

private:
  void finish(const std::string &status, std::vector<std::string> artifacts,
              double mostSeconds);
  void showMessages();

  Terminal &terminal;
  double timeout;
  std::string shown; // the server
  std::unique_ptr<MLflowServer> server;
  MLflowDescription description;
  Surroundings surroundings;
  std::unique_ptr<MLflowSender> sender; // from begin() to the end
  std::string unit;
  int64_t stepsDone = 0;
  bool isKnown = false; // onRun was called
};

/// The run that lines of --metrics say they went to; empty: none.
std::string mlflowRunOf(const std::string &lines);

} // namespace shardc::runtime

#endif

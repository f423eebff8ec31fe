// All outputs of a run's figures.
#ifndef SHARDC_RUNTIME_METRICS_METRICS_H
#define SHARDC_RUNTIME_METRICS_METRICS_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

/// Hands every record to each sink, in the order in which they were added.
class Metrics : public MetricsSink {
public:
  /// What sinks print and warn on.
  Terminal &terminal() { return shown; }
  void add(std::unique_ptr<MetricsSink> sink);

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void checkpoint(const CheckpointFigures &figures) override;
  void end(const EndFigures &figures) override;

private:
  Terminal shown;
  std::vector<std::unique_ptr<MetricsSink>> sinks;
};

} // namespace shardc::runtime

#endif

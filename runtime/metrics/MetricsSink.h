// The seam between the training loop and all that is shown and written of it.
#ifndef SHARDC_RUNTIME_METRICS_METRICSSINK_H
#define SHARDC_RUNTIME_METRICS_METRICSSINK_H

#include "runtime/metrics/Figures.h"

namespace shardc::runtime {

/// One output, of the leading process alone. It takes what it can use and
/// leaves out the rest. A run does not end because its metrics cannot be
/// written: nothing here throws once the run has begun.
class MetricsSink {
public:
  virtual ~MetricsSink() = default;

  /// Before the first step; the clocks of rates start here.
  virtual void begin(const RunFigures &) {}
  virtual void step(const StepFigures &) {}
  virtual void evaluation(const EvaluationFigures &) {}
  virtual void checkpoint(const CheckpointFigures &) {}
  /// Not called where an error ends the run.
  virtual void end(const EndFigures &) {}
};

} // namespace shardc::runtime

#endif

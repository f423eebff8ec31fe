// --log-format hf: the lines that Hugging Face's Trainer prints.
#ifndef SHARDC_RUNTIME_METRICS_HFLOG_H
#define SHARDC_RUNTIME_METRICS_HFLOG_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Python's repr() of a float.
std::string pythonText(double value);

/// Python dictionaries with the keys of transformers.Trainer.log(), in its
/// rounding: losses of steps to 4 digits, epochs to 2, runtimes to 4, rates
/// to 3. A step's loss is the mean since the last one that was shown.
class HfLog : public MetricsSink {
public:
  /// `printEvery`: of isShown().
  HfLog(Terminal &terminal, int64_t printEvery);

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void checkpoint(const CheckpointFigures &figures) override;
  void end(const EndFigures &figures) override;

private:
  /// Losses of steps that were not skipped.
  struct Mean {
    double sum = 0;
    int64_t count = 0;
    void add(double value);
    double value(double none) const { return count ? sum / count : none; }
  };

  Terminal &terminal;
  int64_t printEvery;
  RunFigures run;
  double begun = 0;
  int64_t steps = 0; // of this run
  double epoch = 0;
  Mean sinceShown, all;
};

} // namespace shardc::runtime

#endif

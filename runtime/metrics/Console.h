// What a person sees while it trains: a progress bar on a terminal, plain lines
// elsewhere.
#ifndef SHARDC_RUNTIME_METRICS_CONSOLE_H
#define SHARDC_RUNTIME_METRICS_CONSOLE_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// The line about a step that was skipped because `what` ("loss", "gradients")
/// is not finite; `step` counts from 0.
std::string skippedText(int64_t step, int64_t steps, const char *what,
                        double lossScale, double nextLossScale);

/// Lines that every format of the console has: of a step that was skipped, ""
/// where it was not, and of a checkpoint.
std::string skippedText(const StepFigures &figures, int64_t steps);
std::string savedText(const CheckpointFigures &figures);

/// --print-every N: each Nth step and the last.
bool isShown(int64_t step, int64_t steps, int64_t every);

/// --log-format text
class Console : public MetricsSink {
public:
  /// `printEvery`: 0: all steps, but of many one a second.
  Console(Terminal &terminal, int64_t printEvery);

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void checkpoint(const CheckpointFigures &figures) override;
  void end(const EndFigures &figures) override;

  /// The bar of `width` columns; for tests.
  static std::string bar(const StepFigures &figures, int64_t steps,
                         double secondsLeft, const std::string &unit,
                         int width);

private:
  void show(const StepFigures &figures);
  void draw(const StepFigures &figures);

  Terminal &terminal;
  int64_t printEvery;
  RunFigures run;
  double begun = 0, lastDrawn = 0;
  double rate = 0; // perSecond as the bar shows it
};

} // namespace shardc::runtime

#endif

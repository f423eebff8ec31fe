// What a person sees while it trains: a progress bar on a terminal, plain lines
// elsewhere.
#ifndef SHARDC_RUNTIME_METRICS_CONSOLE_H
#define SHARDC_RUNTIME_METRICS_CONSOLE_H

#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <cstdint>
#include <optional>
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

/// --print-every N: each Nth step and the last; 0: none.
bool isShown(int64_t step, int64_t steps, int64_t every);

/// --log-format text and bar.
class Console : public MetricsSink {
public:
  /// `printEvery`: steps that have lines. Where it is not said, all have one, but
  /// of many steps one a second; beside a bar none.
  Console(Terminal &terminal, std::optional<int64_t> printEvery, bool hasBar);

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
  bool hasLine(int64_t step) const;
  void line(const StepFigures &figures);
  void draw(const StepFigures &figures);

  Terminal &terminal;
  std::optional<int64_t> printEvery;
  bool hasBar;
  RunFigures run;
  double begun = 0, lastShown = 0;
  double rate = 0; // perSecond as the bar shows it
};

} // namespace shardc::runtime

#endif

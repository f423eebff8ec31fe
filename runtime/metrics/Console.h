// What a person sees while it trains: a progress bar on a terminal, plain lines
// elsewhere.
#ifndef SHARDC_RUNTIME_METRICS_CONSOLE_H
#define SHARDC_RUNTIME_METRICS_CONSOLE_H

#include <cstdint>
#include <string>

namespace shardc::runtime {

struct StepFigures {
  int64_t step = 0; // from 0
  double loss = 0;
  double gradientNorm = 0;
  double learningRate = 0;
  double seconds = 0;
  double perSecond = 0; // tokens or samples
};

/// The line about a step that was skipped because `what` ("loss", "gradients")
/// is not finite; `step` counts from 0.
std::string skippedText(int64_t step, int64_t steps, const char *what,
                        double lossScale, double nextLossScale);

class Console {
public:
  /// `unit`: what perSecond counts, "tokens" or "samples".
  Console(int64_t steps, std::string unit);
  ~Console();

  /// A whole line that stays.
  void line(const std::string &text);
  /// The same on stderr, with the program's name.
  void warning(const std::string &text);
  void step(const StepFigures &figures);
  /// Leaves the terminal as it was.
  void finish();

  /// The bar of `width` columns; for tests.
  static std::string bar(const StepFigures &figures, int64_t steps,
                         double secondsLeft, const std::string &unit,
                         int width);

private:
  void draw(const StepFigures &figures);
  void erase();

  int64_t steps;
  std::string unit;
  bool terminal;
  bool drawn = false;
  double begun, lastDrawn = 0;
  double rate = 0; // perSecond as the bar shows it
};

} // namespace shardc::runtime

#endif

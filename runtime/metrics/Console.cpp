// What a person sees while it trains: a progress bar on a terminal, plain lines
// elsewhere.
#include "runtime/metrics/Console.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/Process.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

namespace {

constexpr double drawInterval = 0.1; // seconds between two drawings of the bar
constexpr double lineInterval = 1; // and between two plain lines of a long run
constexpr int64_t fewSteps = 100;  // a run of up to so many steps prints each

} // namespace

std::string skippedText(int64_t step, int64_t steps, const char *what,
                        double lossScale, double nextLossScale) {
  return format("step %lld/%lld: %s not finite, step skipped, ",
                static_cast<long long>(step + 1), static_cast<long long>(steps),
                what) +
         (lossScale == nextLossScale
              ? "loss scale stays " + numberText(lossScale)
              : "loss scale " + numberText(lossScale) + " -> " +
                    numberText(nextLossScale));
}

std::string skippedText(const StepFigures &figures, int64_t steps) {
  if (!figures.lossScale || !figures.lossScale->skipped)
    return "";
  return skippedText(figures.step, steps,
                     std::isfinite(figures.gradientNorm) ? "loss" : "gradients",
                     figures.lossScale->scale, figures.lossScale->next);
}

std::string savedText(const CheckpointFigures &figures) {
  return concat("step ", figures.stepsDone, " is saved in ", figures.path, ": ",
                bytesText(double(figures.bytes)), " in ",
                numberText(std::round(figures.seconds * 100) / 100), " s");
}

bool isShown(int64_t step, int64_t steps, int64_t every) {
  return every > 0 && ((step + 1) % every == 0 || step + 1 == steps);
}

Console::Console(Terminal &terminal, std::optional<int64_t> printEvery,
                 bool hasBar)
    : terminal(terminal), printEvery(printEvery), hasBar(hasBar) {}

void Console::begin(const RunFigures &figures) {
  run = figures;
  begun = monotonicSeconds();
}

void Console::step(const StepFigures &figures) {
  if (std::string text = skippedText(figures, run.steps); !text.empty())
    terminal.line(text);
  if (hasLine(figures.step))
    line(figures);
  bool isEnd = figures.step == 0 || figures.step + 1 == run.steps;
  if (hasBar && (isEnd || monotonicSeconds() - lastShown >= drawInterval)) {
    draw(figures);
    lastShown = monotonicSeconds();
  }
}

void Console::evaluation(const EvaluationFigures &figures) {
  std::string text =
      concat("eval after step ", figures.stepsDone, ": loss ", figures.loss);
  for (const EvaluationMetric &metric : figures.metrics)
    text += concat(", ", metric.name, " ", metric.value);
  terminal.line(text);
}

void Console::checkpoint(const CheckpointFigures &figures) {
  terminal.line(savedText(figures));
}

void Console::end(const EndFigures &figures) {
  if (!figures.interrupted)
    terminal.line(figures.text);
}

bool Console::hasLine(int64_t step) const {
  if (printEvery)
    return isShown(step, run.steps, *printEvery);
  return !hasBar &&
         (step == 0 || step + 1 == run.steps || run.steps <= fewSteps ||
          monotonicSeconds() - lastShown >= lineInterval);
}

void Console::line(const StepFigures &figures) {
  if (!hasBar)
    lastShown = monotonicSeconds();
  terminal.line(
      format("step %lld/%lld  loss %.6f  grad norm %.4f  lr %.3g  ",
             static_cast<long long>(figures.step + 1),
             static_cast<long long>(run.steps), withoutNanSign(figures.loss),
             withoutNanSign(figures.gradientNorm), figures.learningRate) +
      countText(figures.perSecond) + " " + run.unit + "/s");
}

std::string Console::bar(const StepFigures &figures, int64_t steps,
                         double secondsLeft, const std::string &unit,
                         int width) {
  double part =
      steps ? static_cast<double>(figures.step + 1) / static_cast<double>(steps)
            : 1;
  std::string before = format("%3d%% ", static_cast<int>(100 * part));
  std::string after =
      format(" %lld/%lld  loss %.4f  ",
             static_cast<long long>(figures.step + 1),
             static_cast<long long>(steps), withoutNanSign(figures.loss)) +
      countText(figures.perSecond) + " " + unit + "/s  " +
      durationText(secondsLeft) + " left";
  // The last column stays free: some terminals wrap when it is written.
  int room = width - 1 - static_cast<int>(before.size() + after.size()) - 2;
  std::string text = before;
  if (room >= 5) {
    int filled = static_cast<int>(part * room);
    text +=
        "[" + std::string(filled, '=') + std::string(room - filled, ' ') + "]";
  }
  return (text + after).substr(0, std::max(width - 1, 0));
}

void Console::draw(const StepFigures &figures) {
  int64_t done = figures.step + 1;
  // One slow step should not make the figure jump.
  rate = rate > 0 ? 0.9 * rate + 0.1 * figures.perSecond : figures.perSecond;
  StepFigures shown = figures;
  shown.perSecond = rate;
  double left = (monotonicSeconds() - begun) / static_cast<double>(done) *
                static_cast<double>(run.steps - done);
  terminal.draw(bar(shown, run.steps, left, run.unit, terminal.width()));
}

} // namespace shardc::runtime

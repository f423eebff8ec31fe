// What a person sees while it trains: a progress bar on a terminal, plain lines
// elsewhere.
#include "runtime/metrics/Console.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/Print.h"
#include "runtime/metrics/Process.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

namespace {

constexpr double drawInterval = 0.1; // seconds between two drawings of the bar
constexpr double lineInterval = 1; // and between two plain lines of a long run
constexpr int64_t fewSteps = 100;  // a run of up to so many steps prints each

int terminalWidth() {
  winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

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

Console::Console(int64_t steps, std::string unit)
    : steps(steps), unit(std::move(unit)), terminal(isatty(STDOUT_FILENO)),
      begun(monotonicSeconds()) {}

Console::~Console() { finish(); }

void Console::line(const std::string &text) {
  erase();
  print(printableLines(text) + "\n");
}

void Console::warning(const std::string &text) {
  erase();
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: warning: %s\n", printable(text).c_str());
}

void Console::step(const StepFigures &figures) {
  double now = monotonicSeconds();
  bool last = figures.step + 1 == steps, first = figures.step == 0;
  if (terminal) {
    if (first || last || now - lastDrawn >= drawInterval) {
      draw(figures);
      lastDrawn = now;
    }
    return;
  }
  if (!first && !last && steps > fewSteps && now - lastDrawn < lineInterval)
    return;
  lastDrawn = now;
  line(format("step %lld/%lld  loss %.6f  grad norm %.4f  lr %.3g  ",
              static_cast<long long>(figures.step + 1),
              static_cast<long long>(steps), withoutNanSign(figures.loss),
              withoutNanSign(figures.gradientNorm), figures.learningRate) +
       countText(figures.perSecond) + " " + unit + "/s");
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
                static_cast<double>(steps - done);
  std::string text =
      "\r\x1b[K" + bar(shown, steps, left, unit, terminalWidth());
  print(text);
  drawn = true;
}

void Console::erase() {
  if (drawn)
    print("\r\x1b[K");
  drawn = false;
}

void Console::finish() {
  if (!drawn)
    return;
  print("\n");
  drawn = false;
}

} // namespace shardc::runtime

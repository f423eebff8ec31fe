// --log-format hf: the lines that Hugging Face's Trainer prints.
#include "runtime/metrics/HfLog.h"

#include "runtime/metrics/Console.h"
#include "runtime/metrics/Process.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace shardc::runtime {

namespace {

using Items = std::vector<std::pair<std::string, double>>;

double rounded(double value, int digits) {
  double scale = std::pow(10, digits), scaled = value * scale;
  return std::isfinite(scaled) ? std::round(scaled) / scale : value;
}

std::string dictionary(const Items &items) {
  std::string text = "{";
  for (const auto &[key, value] : items)
    text += (text.size() > 1 ? ", '" : "'") + std::string(key) +
            "': " + pythonText(value);
  return text + "}";
}

} // namespace

std::string pythonText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  char text[400];
  char *end = text + sizeof(text);
  std::string scientific(
      text, std::to_chars(text, end, value, std::chars_format::scientific).ptr);
  int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16)
    return scientific;
  std::string fixed(
      text, std::to_chars(text, end, value, std::chars_format::fixed).ptr);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

void HfLog::Mean::add(double value) {
  sum += value;
  ++count;
}

HfLog::HfLog(Terminal &terminal, int64_t printEvery)
    : terminal(terminal), printEvery(printEvery) {}

void HfLog::begin(const RunFigures &figures) {
  run = figures;
  epoch = run.epoch;
  begun = monotonicSeconds();
}

void HfLog::step(const StepFigures &figures) {
  ++steps;
  epoch = figures.epoch;
  if (std::string text = skippedText(figures, run.steps); !text.empty()) {
    terminal.line(text);
  } else {
    sinceShown.add(figures.loss);
    all.add(figures.loss);
  }
  if (!isShown(figures.step, run.steps, printEvery))
    return;
  Mean shown = std::exchange(sinceShown, {});
  double none = std::numeric_limits<double>::quiet_NaN();
  terminal.line(dictionary({{"loss", rounded(shown.value(none), 4)},
                            {"grad_norm", figures.gradientNorm},
                            {"learning_rate", figures.learningRate},
                            {"epoch", rounded(epoch, 2)}}));
}

void HfLog::evaluation(const EvaluationFigures &figures) {
  Items items = {{"eval_loss", figures.loss}};
  for (const EvaluationMetric &metric : figures.metrics)
    items.emplace_back("eval_" + metric.name, metric.value);
  items.emplace_back("eval_runtime", rounded(figures.seconds, 4));
  items.emplace_back(
      "eval_samples_per_second",
      rounded(static_cast<double>(figures.samples) / figures.seconds, 3));
  items.emplace_back("epoch", rounded(figures.epoch, 2));
  terminal.line(dictionary(items));
}

void HfLog::checkpoint(const CheckpointFigures &figures) {
  terminal.line(savedText(figures));
}

void HfLog::end(const EndFigures &figures) {
  if (figures.interrupted)
    return;
  double seconds = monotonicSeconds() - begun;
  double perSecond = static_cast<double>(steps) / seconds;
  terminal.line(dictionary(
      {{"train_runtime", rounded(seconds, 4)},
       {"train_samples_per_second",
        rounded(perSecond * static_cast<double>(run.globalBatch), 3)},
       {"train_steps_per_second", rounded(perSecond, 3)},
       {"train_loss", all.value(0)},
       {"epoch", rounded(epoch, 2)}}));
}

} // namespace shardc::runtime

// --prometheus: a run's figures for node_exporter's textfile collector.
#include "runtime/metrics/Prometheus.h"

#include "runtime/base/Error.h"
#include "runtime/metrics/Process.h"

#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace shardc::runtime {

namespace {

constexpr double writeInterval = 1; // seconds; the collector reads less often

std::string valueText(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// With what names of metrics may have (the text-based format of Prometheus).
std::string nameOf(std::string text) {
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return text;
}

std::string gauge(const std::string &name, const std::string &help,
                  double value) {
  return concat("# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n", name,
                " ", valueText(value), "\n");
}

} // namespace

Prometheus::Prometheus(Terminal &terminal, std::string given)
    : terminal(terminal), path(std::move(given)) {
  OutputFile check(path);
}

void Prometheus::begin(const RunFigures &figures) { run = figures; }

void Prometheus::step(const StepFigures &figures) {
  lastStep = figures;
  writeSometimes();
}

void Prometheus::evaluation(const EvaluationFigures &figures) {
  lastEvaluation = figures;
  writeSometimes();
}

void Prometheus::end(const EndFigures &) { write(); }

std::string Prometheus::text() const {
  double step =
      static_cast<double>(lastStep ? lastStep->step + 1 : run.firstStep);
  std::string text = gauge("shardc_step", "Steps that are done.", step);
  if (lastStep) {
    text += gauge("shardc_loss", "Loss of the last step.", lastStep->loss) +
            gauge("shardc_grad_norm",
                  "Norm of all gradients of the last step, before clipping.",
                  lastStep->gradientNorm) +
            gauge("shardc_learning_rate", "Learning rate of the last step.",
                  lastStep->learningRate) +
            gauge(concat("shardc_", run.unit, "_per_second"),
                  concat("Throughput of the last step in ", run.unit,
                         " per second."),
                  lastStep->perSecond);
  }
  if (lastEvaluation)
    text += gauge("shardc_eval_loss", "Loss of the last evaluation.",
                  lastEvaluation->loss);
  std::set<std::string> names; // of which each may be there once
  if (lastEvaluation)
    for (const EvaluationMetric &metric : lastEvaluation->metrics)
      if (names.insert(nameOf(metric.name)).second)
        text += gauge("shardc_eval_" + nameOf(metric.name),
                      metric.name + " of the last evaluation.", metric.value);
  return text;
}

void Prometheus::writeSometimes() {
  if (!written || monotonicSeconds() - *written >= writeInterval)
    write();
}

void Prometheus::write() {
  written = monotonicSeconds();
  try {
    OutputFile file(path);
    std::string bytes = text();
    file.write(bytes.data(), bytes.size());
    // The next state is a second away: none is worth waiting for the disk.
    file.commit(OutputFile::Sync::No);
  } catch (const Error &error) {
    if (!std::exchange(warned, true))
      terminal.warning(std::string(error.what()) +
                       "; the run goes on and tries again");
  }
}

} // namespace shardc::runtime

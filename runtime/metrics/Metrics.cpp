// All outputs of a run's figures.
#include "runtime/metrics/Metrics.h"

#include <utility>

namespace shardc::runtime {

void Metrics::add(std::unique_ptr<MetricsSink> sink) {
  sinks.push_back(std::move(sink));
}

void Metrics::begin(const RunFigures &figures) {
  for (auto &sink : sinks)
    sink->begin(figures);
}

void Metrics::step(const StepFigures &figures) {
  for (auto &sink : sinks)
    sink->step(figures);
}

void Metrics::evaluation(const EvaluationFigures &figures) {
  for (auto &sink : sinks)
    sink->evaluation(figures);
}

void Metrics::checkpoint(const CheckpointFigures &figures) {
  for (auto &sink : sinks)
    sink->checkpoint(figures);
}

void Metrics::end(const EndFigures &figures) {
  shown.finish();
  for (auto &sink : sinks)
    sink->end(figures);
}

} // namespace shardc::runtime

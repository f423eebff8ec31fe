// All outputs of a run's figures.
#include "runtime/metrics/Metrics.h"

#include "runtime/metrics/Process.h"

#include <utility>

namespace shardc::runtime {

void Metrics::add(std::unique_ptr<MetricsSink> sink) {
  sinks.push_back(std::move(sink));
}

void Metrics::begin(const RunFigures &figures) {
  for (auto &sink : sinks)
    sink->begin(figures);
}

// One time for all outputs, so that those which are compared later agree.
void Metrics::step(const StepFigures &figures) {
  StepFigures timed = figures;
  timed.time = secondsSince1970();
  for (auto &sink : sinks)
    sink->step(timed);
}

void Metrics::evaluation(const EvaluationFigures &figures) {
  EvaluationFigures timed = figures;
  timed.time = secondsSince1970();
  for (auto &sink : sinks)
    sink->evaluation(timed);
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

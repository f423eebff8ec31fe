// --prometheus: a run's figures for node_exporter's textfile collector.
#ifndef SHARDC_RUNTIME_METRICS_PROMETHEUS_H
#define SHARDC_RUNTIME_METRICS_PROMETHEUS_H

#include "runtime/files/OutputFile.h"
#include "runtime/metrics/MetricsSink.h"
#include "runtime/metrics/Terminal.h"

#include <optional>
#include <string>

namespace shardc::runtime {

/// The file is always whole: each of its states replaces the one before. What
/// cannot be written is tried again a second later.
class Prometheus : public MetricsSink {
public:
  /// Throws an Error with the path where it cannot be written.
  Prometheus(Terminal &terminal, std::string path);

  void begin(const RunFigures &figures) override;
  void step(const StepFigures &figures) override;
  void evaluation(const EvaluationFigures &figures) override;
  void end(const EndFigures &figures) override;

  /// The exposition format, of what is known so far.
  std::string text() const;

private:
  void writeSometimes();
  void write();

  Terminal &terminal;
  std::string path;
  RunFigures run;
  std::optional<StepFigures> lastStep;
  std::optional<EvaluationFigures> lastEvaluation;
  std::optional<double> written; // when
  bool warned = false;
};

} // namespace shardc::runtime

#endif

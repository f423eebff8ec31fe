// --metrics: every record as a line of JSON.
#include "runtime/metrics/JsonLines.h"

#include "runtime/metrics/Lines.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

JsonLines::JsonLines(Terminal &terminal, const std::string &path,
                     std::optional<int64_t> goesOnAt)
    : terminal(terminal), file(path, goesOnAt) {}

void JsonLines::begin(const RunFigures &figures) { unit = figures.unit; }

void JsonLines::step(const StepFigures &figures) {
  write(lineOf(figures, unit));
}

void JsonLines::evaluation(const EvaluationFigures &figures) {
  write(lineOf(figures));
}

void JsonLines::checkpoint(const CheckpointFigures &figures) {
  write(lineOf(figures));
}

void JsonLines::mlflowRun(int64_t stepsDone, const std::string &id) {
  write({{"event", "mlflow"}, {"step", stepsDone}, {"run_id", id}});
}

void JsonLines::end(const EndFigures &figures) {
  write(figures.summary);
  if (!figures.interrupted && !file.lossText().empty())
    terminal.line(file.lossText());
}

void JsonLines::write(const Json &line) {
  std::string failure = file.write(line);
  if (!failure.empty())
    terminal.warning(failure + "; the run goes on without these metrics");
}

} // namespace shardc::runtime

// Figures of a run as metrics of an MLflow run.
#include "runtime/mlflow/MLflow.h"

#include "runtime/metrics/Lines.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardc::runtime {

namespace {
/// Before the first step: a server that is there has answered by then.
constexpr double waitAtBegin = 3;
/// A run that was told to stop is killed if it takes too long.
constexpr double waitWhenStopped = 10;
} // namespace

MLflow::MLflow(Terminal &terminal, const MLflowSettings &settings,
               std::unique_ptr<MLflowServer> server,
               MLflowDescription description, Surroundings surroundings)
    : terminal(terminal), timeout(settings.http.timeout), shown(settings.shown),
      server(std::move(server)), description(std::move(description)),
      surroundings(std::move(surroundings)) {}

MLflow::~MLflow() {
  if (sender)
    finish("FAILED", {}, waitWhenStopped);
}

std::string MLflow::runId() const {
  return sender ? sender->runId() : description.runId;
}

void MLflow::begin(const RunFigures &figures) {
  unit = figures.unit;
  stepsDone = figures.firstStep;
  sender = std::make_unique<MLflowSender>(std::move(server), description);
  sender->waitForRun(std::min(timeout, waitAtBegin));
  showMessages();
}

void MLflow::step(const StepFigures &figures) {
  stepsDone = figures.step + 1;
  sender->add(textOf(lineOf(figures, unit)));
  showMessages();
}

void MLflow::evaluation(const EvaluationFigures &figures) {
  sender->add(textOf(lineOf(figures)));
  showMessages();
}

void MLflow::end(const EndFigures &figures) {
  if (figures.interrupted)
    finish("KILLED", {}, waitWhenStopped);
  else
    finish("FINISHED", surroundings.exports(), timeout);
}

void MLflow::finish(const std::string &status,
                    std::vector<std::string> artifacts, double mostSeconds) {
  size_t files = artifacts.size();
  MLflowSender::Left left = sender->finish({status, std::move(artifacts)},
                                           std::min(timeout, mostSeconds));
  for (const MLflowSender::Message &message : sender->takeMessages())
    if (message.isWarning)
      terminal.warning(message.text);
    else
      terminal.line(message.text);
  sender.reset();
  if (left.isAll)
    return;
  std::string follows =
      surroundings.lines.empty()
          ? "they are lost; --metrics keeps them, and they follow from there"
          : concat("they are in ", surroundings.lines,
                   ", and follow when the run is gone on with");
  terminal.warning(left.lines > 0
                       ? concat("MLflow at ", shown, " lacks ", left.lines,
                                left.lines == 1 ? " step or evaluation"
                                                : " steps and evaluations",
                                files ? " and the exports" : "", ": ",
                                left.reason, "; ", follows)
                       : concat("MLflow at ", shown,
                                " has not been told that the run is ", status,
                                files ? ", and lacks exports: " : ": ",
                                left.reason));
}

void MLflow::showMessages() {
  for (const MLflowSender::Message &message : sender->takeMessages())
    if (message.isWarning)
      terminal.warning(message.text);
    else
      terminal.line(message.text);
  if (isKnown)
    return;
  std::string id = sender->runId();
  isKnown = !id.empty();
  if (isKnown && surroundings.onRun)
    surroundings.onRun(stepsDone, id);
}

std::string mlflowRunOf(const std::string &lines) {
  std::ifstream file(lines, std::ios::binary);
  std::string id;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(R"({"event":"mlflow")"))
      continue;
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("run_id") &&
        json["run_id"].is_string())
      id = json["run_id"];
  }
  return id;
}

} // namespace shardc::runtime

// The outputs of a run's figures that its flags ask for.
#include "runtime/train/OpenSinks.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/HfLog.h"
#include "runtime/metrics/HtmlPage.h"
#include "runtime/metrics/JsonLines.h"
#include "runtime/metrics/Print.h"
#include "runtime/metrics/Prometheus.h"
#include "runtime/metrics/TensorBoard.h"
#include "runtime/mlflow/MLflow.h"
#include "runtime/train/Description.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// What the files of exports are, once they are there.
static std::vector<std::string> exportsOf(const Run &run) {
  std::vector<std::string> files;
  for (const auto *file : {&run.gradients, &run.parameters})
    if (*file && !(*file)->written().empty())
      files.push_back((*file)->written());
  if (run.onnx && !run.onnx->written().empty())
    for (const std::string &file : run.onnx->outputs())
      if (std::filesystem::exists(file))
        files.push_back(file);
  return files;
}

/// Null: nothing is to go to MLflow, or nothing can. `lines`: null where there
/// is no --metrics. `before`: the run that lines from before went to.
static std::unique_ptr<MLflow> openMLflow(Run &run,
                                          const MLflowSettings &settings,
                                          JsonLines *lines,
                                          const std::string &before) {
  Terminal &terminal = run.metrics.terminal();
  std::unique_ptr<MLflowServer> server;
  try {
    server = std::make_unique<MLflowServer>(settings);
  } catch (const Error &error) {
    terminal.warning(concat(error.what(), "; nothing goes to MLflow at ",
                            settings.shown, ": install libcurl4"));
    return nullptr;
  }
  MLflowDescription description;
  description.isNamed = !settings.runId.empty();
  description.runId = settings.runId;
  if (!description.isNamed && run.resumed) {
    description.runId = run.resumed->manifest().mlflowRun;
    if (description.runId.empty())
      description.runId = before;
  }
  description.params = describe(run);
  description.tags = {{"mlflow.user", userName()},
                      {"mlflow.source.name", run.plan.model()},
                      {"mlflow.source.type", "LOCAL"},
                      {"shardc.command", commandText(run.options)}};
  const Options &options = run.options;
  if (lines && run.resumed)
    description.earlierLines = *options.metrics;
  else if (lines && description.isNamed && before == settings.runId)
    description.earlierLines = lines->earlierRun();
  if (!description.earlierLines.empty())
    description.earlierBytes =
        std::filesystem::file_size(description.earlierLines);
  MLflow::Surroundings surroundings;
  if (lines)
    surroundings.onRun = [lines](int64_t stepsDone, const std::string &id) {
      lines->mlflowRun(stepsDone, id);
    };
  surroundings.exports = [&run] { return exportsOf(run); };
  surroundings.lines = options.metrics.value_or("");
  return std::make_unique<MLflow>(terminal, settings, std::move(server),
                                  std::move(description),
                                  std::move(surroundings));
}

static void sayEarlierRun(const char *what, const std::string &file) {
  if (!file.empty())
    print(
        concat(what, ": the earlier run's are in ", printable(file), " now\n"));
}

void openSinks(Run &run) {
  const Options &options = run.options;
  Metrics &metrics = run.metrics;
  Terminal &terminal = metrics.terminal();
  if (options.logFormat == LogFormat::Hf)
    metrics.add(
        std::make_unique<HfLog>(terminal, options.printEvery.value_or(1)));
  else
    metrics.add(std::make_unique<Console>(
        terminal, options.printEvery,
        options.logFormat == LogFormat::Bar ||
            (options.logFormat == LogFormat::Auto && terminal.isTerminal())));
  if (options.prometheus)
    metrics.add(std::make_unique<Prometheus>(terminal, *options.prometheus));
  if (options.html)
    metrics.add(std::make_unique<HtmlPage>(
        terminal, *options.html,
        HtmlPage::Facts{describe(run), memoryOf(run), commandText(run.options)},
        run.resumed != nullptr));
  std::string warning;
  std::optional<MLflowSettings> mlflow = MLflowSettings::read(
      [](const char *name) { return getenv(name); }, warning);
  if (!warning.empty())
    terminal.warning(warning);
  if (options.dryRun)
    return;
  if (options.tensorboard)
    metrics.add(std::make_unique<TensorBoard>(terminal, *options.tensorboard));
  std::optional<int64_t> goesOnAt;
  if (run.resumed)
    goesOnAt = run.settings.start.step;
  if (options.logSamples) {
    run.samples =
        std::make_unique<MetricsFile>(*options.logSamples, goesOnAt, "samples");
    sayEarlierRun("samples", run.samples->earlierRun());
  }
  JsonLines *lines = nullptr;
  std::string before;
  if (options.metrics) {
    if (mlflow)
      before = mlflowRunOf(*options.metrics);
    auto opened =
        std::make_unique<JsonLines>(terminal, *options.metrics, goesOnAt);
    sayEarlierRun("metrics", opened->earlierRun());
    lines = opened.get();
    metrics.add(std::move(opened));
  }
  if (!mlflow)
    return;
  // Last: it may wait for a server, and then all others are whole.
  if (auto sink = openMLflow(run, *mlflow, lines, before)) {
    run.mlflowRun = [known = sink.get()] { return known->runId(); };
    metrics.add(std::move(sink));
  }
}

} // namespace shardc::runtime

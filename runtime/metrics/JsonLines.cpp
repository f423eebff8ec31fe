// --metrics: every record as a line of JSON.
#include "runtime/metrics/JsonLines.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

JsonLines::JsonLines(Terminal &terminal, const std::string &path,
                     std::optional<int64_t> goesOnAt)
    : terminal(terminal), file(path, goesOnAt) {}

void JsonLines::begin(const RunFigures &figures) { unit = figures.unit; }

void JsonLines::step(const StepFigures &figures) {
  Json line = {{"step", figures.step},
               {"loss", figures.loss},
               {"grad_norm", figures.gradientNorm},
               {"learning_rate", figures.learningRate},
               {unit + "_per_second", figures.perSecond},
               {"step_seconds", figures.seconds}};
  if (figures.lossScale) {
    line["loss_scale"] = figures.lossScale->scale;
    line["skipped"] = figures.lossScale->skipped;
  }
  line["epoch"] = figures.epoch;
  line["samples"] = figures.samples;
  if (figures.tokens)
    line["tokens"] = *figures.tokens;
  line["data_seconds"] = figures.dataSeconds;
  if (figures.teraflops) {
    line["tflops_per_rank"] = *figures.teraflops;
    line["mfu"] = *figures.utilization;
  }
  write(line);
}

void JsonLines::evaluation(const EvaluationFigures &figures) {
  Json line = {{"event", "eval"},
               {"step", figures.stepsDone},
               {"loss", figures.loss},
               {"samples", figures.samples},
               {"seconds", figures.seconds}};
  if (figures.perplexity)
    line["perplexity"] = *figures.perplexity;
  if (figures.accuracy)
    line["accuracy"] = *figures.accuracy;
  write(line);
}

void JsonLines::checkpoint(const CheckpointFigures &figures) {
  write({{"event", "checkpoint"},
         {"step", figures.stepsDone},
         {"path", figures.path},
         {"bytes", figures.bytes},
         {"seconds", figures.seconds},
         {"waited_seconds", figures.waitedSeconds}});
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

// What a line of --metrics says.
#include "runtime/metrics/Lines.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

Json lineOf(const StepFigures &figures, const std::string &unit) {
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
  line["time"] = figures.time;
  return line;
}

Json lineOf(const EvaluationFigures &figures) {
  Json line = {{"event", "eval"},
               {"step", figures.stepsDone},
               {"loss", figures.loss},
               {"samples", figures.samples},
               {"seconds", figures.seconds},
               {"time", figures.time}};
  for (const EvaluationMetric &metric : figures.metrics)
    line[metric.name] = metric.value;
  return line;
}

Json lineOf(const CheckpointFigures &figures) {
  return {{"event", "checkpoint"},
          {"step", figures.stepsDone},
          {"path", figures.path},
          {"bytes", figures.bytes},
          {"seconds", figures.seconds},
          {"write_seconds", figures.writeSeconds},
          {"waited_seconds", figures.waitedSeconds},
          {"longest_wait_seconds", figures.longestWait}};
}

std::string textOf(const Json &line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace shardc::runtime

// What is said of a run when it ends.
#include "runtime/train/Summary.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/Process.h"
#include "runtime/metrics/StepProfile.h"
#include "runtime/train/Collectives.h"
#include "runtime/train/MemoryPlan.h"
#include "runtime/train/ReadAhead.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

static Json orNull(const std::optional<double> &value) {
  return value ? Json(*value) : Json();
}

/// By "KIND PHASE": how many a rank started in a step.
static Json collectivesJson(const plan::Plan &plan,
                            const std::vector<RankRecord> &ranks,
                            int64_t steps) {
  Json result = Json::object();
  int64_t runs = steps * static_cast<int64_t>(ranks.size());
  if (runs == 0)
    return result;
  for (const Collective &each : collectivesOfRun(plan, ranks)) {
    Json &count = result[each.kind + " " + each.phase];
    if (each.number % runs == 0)
      count = each.number / runs;
    else
      count = static_cast<double>(each.number) / static_cast<double>(runs);
  }
  return result;
}

Json Summary::json(const plan::Plan &plan, const std::vector<RankRecord> &ranks,
                   int64_t steps, double dataSeconds, bool interrupted) const {
  Json shares = Json::object();
  for (const StepShare &share : stepShares(plan, ranks, steps, dataSeconds))
    shares[share.kind] = 1e3 * share.seconds;
  auto ofStep = [&](int64_t bytes) {
    return bytes / std::max<int64_t>(1, steps);
  };
  auto of = [&](std::string_view name) {
    for (const EvaluationMetric &metric : metrics)
      if (metric.name == name)
        return Json(metric.value);
    return Json();
  };
  Json others = Json::object(); // of --eval-command
  for (const EvaluationMetric &metric : metrics)
    if (metric.name != "perplexity" && metric.name != "accuracy")
      others[metric.name] = metric.value;
  Json memory = Json::array(), processes = Json::array();
  int64_t pss = 0;
  double seconds = 0, gemmSeconds = 0;
  for (const RankRecord &rank : ranks) {
    Json pools = Json::object();
    for (int pool = 0; pool < plan.pools_size(); ++pool)
      pools[plan.pools(pool).name()] = {
          {"planned_bytes", poolBytes(plan.pools(pool), microBatches)},
          {"allocated_bytes", rank.poolBytes[pool]}};
    memory.push_back(
        {{"rank", rank.rank},
         {"pools", pools},
         {"read_ahead_bytes", ReadAhead::bytesPerRank(plan, microBatches)}});
    if (rank.ranksOfProcess > 0) {
      processes.push_back(
          {{"ranks", {rank.rank, rank.rank + rank.ranksOfProcess - 1}},
           {"pss_bytes", rank.memory.sum()},
           {"pools_bytes", rank.memory.pools},
           {"files_bytes", rank.memory.files},
           {"others_bytes", rank.memory.others},
           {"sent_bytes_per_step", ofStep(rank.traffic.sent)},
           {"received_bytes_per_step", ofStep(rank.traffic.received)},
           {"read_bytes_per_step", ofStep(rank.traffic.read)}});
      pss += rank.memory.sum();
    }
    seconds += rank.train.seconds;
    gemmSeconds += rank.train.gemmSeconds;
  }
  return {{"event", "summary"},
          {"steps", steps},
          {"micro_batches", microBatches},
          {"skipped_steps", skippedSteps},
          {"loss_scale", orNull(lossScale)},
          {"interrupted", interrupted},
          {"loss", orNull(loss)},
          {"eval_loss", orNull(evalLoss)},
          {"perplexity", of("perplexity")},
          {"accuracy", of("accuracy")},
          {"eval_metrics", others},
          {"ranks", ranks.size()},
          {"collectives", collectivesJson(plan, ranks, steps)},
          {"memory", memory},
          {"checkpoint_copy_bytes", checkpointCopyBytes},
          {"step_milliseconds", shares},
          {"processes", processes},
          {"pss_bytes", pss},
          {"peak_rss_bytes", peakResidentBytes()},
          {"seconds_to_first_step", orNull(secondsToFirstStep)},
          {"seconds", secondsSinceProcessStart()},
          {"gemm_share", seconds > 0 ? Json(gemmSeconds / seconds) : Json()}};
}

std::string Summary::text(const std::string &unit) const {
  std::string text = "done";
  if (loss)
    text += concat(": loss ", *loss);
  if (evalLoss)
    text += concat(", eval loss ", *evalLoss);
  for (const EvaluationMetric &metric : metrics)
    text += concat(", ", metric.name, " ", metric.value);
  if (trainSeconds > 0)
    text += concat(", ", countText(trainUnits / trainSeconds), " ", unit, "/s");
  if (skippedSteps)
    text += concat(", ", skippedSteps,
                   skippedSteps == 1 ? " step skipped" : " steps skipped");
  return text + concat(", peak memory ",
                       bytesText(static_cast<double>(peakResidentBytes())));
}

} // namespace shardc::runtime

// What is said of a run when it ends.
#include "runtime/Summary.h"

#include "runtime/Error.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/Process.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

static Json orNull(const std::optional<double> &value) {
  return value ? Json(*value) : Json();
}

Json Summary::json(const plan::Plan &plan, const std::vector<Rank *> &ranks,
                   int64_t steps, bool interrupted) const {
  Json memory = Json::array();
  double seconds = 0, gemmSeconds = 0;
  for (Rank *rank : ranks) {
    std::vector<int64_t> allocated = rank->allocatedBytes();
    Json pools = Json::object();
    for (int pool = 0; pool < plan.pools_size(); ++pool)
      pools[plan.pools(pool).name()] = {
          {"planned_bytes", plan.pools(pool).bytes()},
          {"allocated_bytes", allocated[pool]}};
    memory.push_back({{"rank", rank->rank()}, {"pools", pools}});
    seconds += rank->trainProfile().seconds;
    gemmSeconds += rank->trainProfile().gemmSeconds;
  }
  return {{"event", "summary"},
          {"steps", steps},
          {"interrupted", interrupted},
          {"loss", orNull(loss)},
          {"eval_loss", orNull(evalLoss)},
          {"ranks", ranks.size()},
          {"memory", memory},
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
  if (trainSeconds > 0)
    text += concat(", ", countText(trainUnits / trainSeconds), " ", unit, "/s");
  return text + concat(", peak memory ",
                       bytesText(static_cast<double>(peakResidentBytes())));
}

} // namespace shardc::runtime

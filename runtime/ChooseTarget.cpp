// Which of the targets that a trainer was compiled for a run takes.
#include "runtime/ChooseTarget.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/flags/Given.h"
#include "runtime/launch/AskInChild.h"
#include "runtime/train/MemoryPlan.h"

#include <algorithm>
#include <sstream>

namespace shardc::runtime {

/// "cpu:znver4 and cuda:sm_90"
static std::string namesOf(const std::vector<plan::Plan> &plans) {
  std::string names;
  for (const plan::Plan &plan : plans)
    names += (names.empty() ? "" : " and ") + plan.target().name();
  return names;
}

std::optional<size_t> namedTarget(const std::vector<plan::Plan> &plans,
                                  const Options &options,
                                  const PlatformFactory &platformOf) {
  if (options.device == DeviceKind::Auto)
    return plans.size() == 1 ? std::optional<size_t>(0) : std::nullopt;
  auto found = std::ranges::find_if(plans, [&](const plan::Plan &plan) {
    return platformOf(plan)->traits(plan).kind == options.device;
  });
  const char *name = options.device == DeviceKind::Cuda ? "cuda" : "cpu";
  if (found == plans.end())
    fail(cli::placeOf(options.given, "--device"), "--device ", name,
         ": this trainer was compiled for ", namesOf(plans),
         "; compile it with shardc --target cpu,cuda");
  return static_cast<size_t>(found - plans.begin());
}

ChosenTarget chooseTarget(const std::vector<plan::Plan> &plans,
                          const Options &options, int64_t ranks,
                          const PlatformFactory &platformOf) {
  if (std::optional<size_t> named = namedTarget(plans, options, platformOf))
    return {*named, ""};
  std::string found;
  size_t shared = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    const plan::Plan &plan = plans[i];
    std::unique_ptr<Platform> platform = platformOf(plan);
    if (platform->traits(plan).ranksShare) {
      shared = i;
      continue;
    }
    int devices = platform->deviceCount(plan);
    found += concat(found.empty() ? "" : ", ", devices,
                    devices == 1 ? " device" : " devices", " here for ",
                    plan.target().name());
    if (devices >= ranks)
      return {i, concat("runs on ", plan.target().name(), ", of ",
                        namesOf(plans), ": ", found, " and ", ranks,
                        ranks == 1 ? " rank" : " ranks")};
  }
  return {shared, concat("runs on ", plans[shared].target().name(), ", of ",
                         namesOf(plans), ": ", found, " and ", ranks,
                         ranks == 1 ? " rank" : " ranks")};
}

std::optional<ChosenTarget>
startForDevices(Launch &launch, const std::vector<plan::Plan> &plans,
                const Options &options, const PlatformFactory &platformOf) {
  int64_t ranks = plans.front().mesh().ranks(), nodes = launch.nodes;
  int64_t ranksHere = ranks / nodes;
  std::optional<size_t> named = namedTarget(plans, options, platformOf);
  bool mayStart = launch.isOpen && ranks % nodes == 0 && ranksHere > 1;
  if (!mayStart || (named && !platformOf(plans[*named])->wantsProcesses()))
    return std::nullopt;
  std::istringstream answer(askInChild([&] {
    ChosenTarget chosen = chooseTarget(plans, options, ranksHere, platformOf);
    const plan::Plan &plan = plans[chosen.index];
    std::unique_ptr<Platform> platform = platformOf(plan);
    if (platform->wantsProcesses())
      platform->requireDevices(
          plan, ranksHere, MemoryPlan::of(plan, options.microBatches, 1).own);
    return concat(chosen.index, " ", chosen.why);
  }));
  ChosenTarget chosen;
  answer >> chosen.index;
  std::getline(answer >> std::ws, chosen.why);
  if (platformOf(plans[chosen.index])->wantsProcesses())
    launch.startHere(static_cast<int>(ranksHere));
  return chosen;
}

} // namespace shardc::runtime

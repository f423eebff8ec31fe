// Policies, planned one after the other.
#include "tools/shardc/explain/Limits.h"

#include "passes/analyses/CostModel.h"
#include "passes/options/ByteSize.h"
#include "tools/shardc/Pareto.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace shardc {

namespace {
/// A plan of the same model, the same bits and less memory.
struct SmallerPlan {
  Options options;
  std::string flags;
  CompileReport report;
};
} // namespace

static std::vector<SmallerPlan> findSmallerPlans(const Options &options,
                                                 int64_t peakBytes,
                                                 const PlanAgain &planAgain) {
  std::vector<SmallerPlan> plans;
  auto attempt = [&](const Options &changed, const std::string &flags) {
    std::optional<CompileReport> report = planAgain(changed);
    if (report && report->memory->peakBytes < peakBytes)
      plans.push_back({changed, flags, *report});
  };
  for (const std::string &policy : paretoPolicies()) {
    Options changed = options;
    changed.remat = policy;
    if (policy != options.remat)
      attempt(changed, "--remat " + policy);
  }
  if (options.offload == "none") {
    Options changed = options;
    for (const char *what : {"activations", "optimizer"}) {
      // Whole matrices and split masters stay.
      changed.offload = what;
      attempt(changed, std::string("--offload ") + what);
    }
  }
  if (options.prefetch == "0")
    return plans;
  SmallerPlan best{options, "", {}};
  int64_t least = peakBytes;
  for (const SmallerPlan &plan : plans)
    if (plan.report.memory->peakBytes < least) {
      best = plan;
      least = plan.report.memory->peakBytes;
    }
  best.options.prefetch = "0";
  attempt(best.options,
          best.flags + (best.flags.empty() ? "" : " ") + "--prefetch 0");
  return plans;
}

static bool needsLess(const CompileReport &a, const CompileReport &b) {
  return a.memory->peakBytes < b.memory->peakBytes;
}

std::string smallerPlans(const Options &options, const CompileReport &report,
                         const PlanAgain &planAgain) {
  int64_t peakBytes = report.memory->peakBytes;
  std::string text;
  llvm::raw_string_ostream os(text);
  std::vector<SmallerPlan> plans =
      findSmallerPlans(options, peakBytes, planAgain);
  if (plans.empty())
    return "no policy of --remat takes less, nor does --offload or "
           "--prefetch 0\n";
  os << "what would take less, planned with each; results have the same "
        "bits:\n";
  for (const SmallerPlan &plan : plans) {
    int64_t bytes = plan.report.memory->peakBytes;
    os << llvm::formatv("  {0,-28}{1,12}, {2} less; a step takes {3}\n",
                        plan.flags, bytesText(double(bytes)),
                        bytesText(double(peakBytes - bytes)),
                        timeText(plan.report.timeline->seconds));
  }
  SmallerPlan &best =
      *llvm::min_element(plans, [](const auto &a, const auto &b) {
        return needsLess(a.report, b.report);
      });
  // Said only where a compilation with it works.
  best.options.memoryLimit = std::to_string(best.report.memory->peakBytes);
  if (planAgain(best.options))
    os << "the smallest limit that works, of these: --memory-limit "
       << best.options.memoryLimit << " " << best.flags << "\n";
  return text;
}

std::string outOfMemory(const Options &options, const CompileReport &report,
                        const PlanAgain &planAgain) {
  double limit = *parseByteSize(options.size);
  auto taken = static_cast<double>(report.memory->peakBytes);
  if (taken <= limit)
    return llvm::formatv("{0} suffice: the plan takes {1} of a rank\n",
                         options.size, bytesText(taken))
        .str();
  std::string text =
      llvm::formatv("{0} do not suffice: the plan takes {1} of a "
                    "rank\n",
                    options.size, bytesText(taken))
          .str();
  std::vector<SmallerPlan> plans =
      findSmallerPlans(options, report.memory->peakBytes, planAgain);
  // What leaves for the host is chosen under the limit.
  for (const std::string &policy :
       {options.remat, std::string("all"), std::string("unit")}) {
    Options changed = options;
    changed.remat = policy;
    changed.offload = "auto";
    changed.memoryLimit = options.size;
    if (std::optional<CompileReport> plan = planAgain(changed))
      plans.push_back(
          {changed,
           (policy == options.remat ? "" : "--remat " + policy + " ") +
               "--offload auto",
           *plan});
  }
  llvm::sort(plans, [](const SmallerPlan &a, const SmallerPlan &b) {
    return a.report.timeline->seconds < b.report.timeline->seconds;
  });
  for (SmallerPlan &plan : plans) {
    if (static_cast<double>(plan.report.memory->peakBytes) > limit)
      continue;
    plan.options.memoryLimit = options.size;
    if (std::optional<CompileReport> kept = planAgain(plan.options))
      return text +
             llvm::formatv("the quickest that fits, with the same bits: "
                           "--memory-limit {0} {1}\n  it takes {2}, and {3} a "
                           "step instead of {4}\n",
                           options.size, plan.flags,
                           bytesText(double(kept->memory->peakBytes)),
                           timeText(kept->timeline->seconds),
                           timeText(report.timeline->seconds))
                 .str();
  }
  return text +
         "no plan of the same bits fits; the smallest of them follow, "
         "and what else helps is fewer samples a rank or more ranks\n" +
         smallerPlans(options, report, planAgain);
}

} // namespace shardc

// --profile: where the time of a step goes.
#include "runtime/metrics/StepProfile.h"

#include "runtime/base/EntryKind.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace shardc::runtime {

namespace {
std::string row(const std::string &kind, double milliseconds, double share,
                double entries, double flopsPerSecond) {
  char text[128];
  std::snprintf(text, sizeof text, "%-22s %10.3f %7.1f%%", kind.c_str(),
                milliseconds, 100 * share);
  std::string line = text;
  if (entries > 0) {
    std::snprintf(text, sizeof text, " %9.0f", entries);
    line += text;
  }
  if (flopsPerSecond > 0) {
    std::snprintf(text, sizeof text, " %10.1f", flopsPerSecond * 1e-9);
    line += text;
  }
  return line + "\n";
}

/// What the table calls a kind.
std::string title(const std::string &kind) {
  static const std::map<std::string, std::string> titles = {
      {"gemm", "matrix products"},         {"loss", "loss and head"},
      {"kernel", "generated kernels"},     {"copy", "copies and sums"},
      {"collective", "collectives begun"}, {"wait", "collectives waited for"},
      {"optimizer", "norm and optimizer"}};
  auto found = titles.find(kind);
  return found == titles.end() ? kind : found->second;
}
} // namespace

std::vector<StepShare> stepShares(const plan::Plan &plan,
                                  const std::vector<RankRecord> &ranks,
                                  int64_t steps, double dataSeconds) {
  std::map<std::string, StepShare> kinds;
  double entrySeconds = 0, runSeconds = 0;
  double all = static_cast<double>(steps) * static_cast<double>(ranks.size());
  for (const RankRecord &rank : ranks) {
    const Profile &profile = rank.train;
    if (steps == 0 || profile.seconds == 0)
      return {};
    runSeconds += profile.seconds;
    for (int i = 0; i < plan.train().entries_size(); ++i) {
      const plan::Entry &entry = plan.train().entries(i);
      StepShare &share = kinds[workKind(entry)];
      auto runs = static_cast<double>(profile.entryRuns[i]);
      share.seconds += profile.entrySeconds[i] / all;
      share.flops += runs * entry.flops() / all;
      share.entries += runs / all;
      entrySeconds += profile.entrySeconds[i];
    }
  }
  std::vector<StepShare> shares;
  for (auto &[kind, share] : kinds) {
    share.kind = title(kind);
    shares.push_back(share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const StepShare &a, const StepShare &b) {
                     return a.seconds > b.seconds;
                   });
  shares.push_back({"data", dataSeconds / static_cast<double>(steps)});
  shares.push_back(
      {"between entries, idle", (runSeconds - entrySeconds) / all});
  return shares;
}

std::string profileText(const plan::Plan &plan,
                        const std::vector<RankRecord> &ranks, int64_t steps,
                        double dataSeconds) {
  std::vector<StepShare> shares = stepShares(plan, ranks, steps, dataSeconds);
  if (shares.empty())
    return "no step was taken\n";
  double step = 0, gemm = 0;
  for (const StepShare &share : shares)
    step += share.seconds;
  for (const RankRecord &rank : ranks)
    gemm += rank.train.gemmSeconds / static_cast<double>(steps) /
            static_cast<double>(ranks.size());
  std::string text = "where a step's time goes    ms     share   entries     "
                     "GFLOP/s of a rank\n";
  for (const StepShare &share : shares)
    text +=
        row(share.kind, 1e3 * share.seconds, share.seconds / step,
            share.entries, share.seconds > 0 ? share.flops / share.seconds : 0);
  text += row("a step", 1e3 * step, 1, 0, 0);
  char line[96];
  std::snprintf(line, sizeof line,
                "inside the GEMM library, wherever called: %.1f%%\n",
                100 * gemm / step);
  return text + line;
}

double stepFlops(const plan::Plan &plan, int64_t microBatches) {
  double flops = 0;
  for (const plan::Entry &entry : plan.train().entries())
    flops +=
        entry.flops() * static_cast<double>(runsPerStep(entry, microBatches));
  return flops;
}

} // namespace shardc::runtime

// --profile: where the time of a step goes.
#include "runtime/metrics/StepProfile.h"

#include "runtime/base/EntryKind.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace shardc::runtime {

namespace {
struct Work {
  double seconds = 0, flops = 0, runs = 0;
};

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

std::string profileText(const plan::Plan &plan,
                        const std::vector<RankRecord> &ranks, int64_t steps,
                        double dataSeconds) {
  std::map<std::string, Work> kinds;
  double entrySeconds = 0, gemmSeconds = 0, runSeconds = 0;
  for (const RankRecord &rank : ranks) {
    const Profile &profile = rank.train;
    gemmSeconds += profile.gemmSeconds;
    runSeconds += profile.seconds;
    for (int i = 0; i < plan.train().entries_size(); ++i) {
      const plan::Entry &entry = plan.train().entries(i);
      Work &work = kinds[workKind(entry)];
      auto runs = static_cast<double>(profile.entryRuns[i]);
      work.seconds += profile.entrySeconds[i];
      work.flops += runs * entry.flops();
      work.runs += runs;
      entrySeconds += profile.entrySeconds[i];
    }
  }
  if (steps == 0)
    return "no step was taken\n";
  double all = static_cast<double>(steps) * static_cast<double>(ranks.size());
  double data = dataSeconds / static_cast<double>(steps);
  double step = runSeconds / all + data;
  std::string text = "where a step's time goes    ms     share   entries     "
                     "GFLOP/s of a rank\n";
  std::vector<std::pair<std::string, Work>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto &a, const auto &b) {
                     return a.second.seconds > b.second.seconds;
                   });
  for (const auto &[kind, work] : sorted)
    text +=
        row(title(kind), 1e3 * work.seconds / all, work.seconds / all / step,
            work.runs / all, work.seconds > 0 ? work.flops / work.seconds : 0);
  text += row("data", 1e3 * data, data / step, 0, 0);
  double idle = (runSeconds - entrySeconds) / all;
  text += row("between entries, idle", 1e3 * idle, idle / step, 0, 0);
  text += row("a step", 1e3 * step, 1, 0, 0);
  char line[96];
  std::snprintf(line, sizeof line,
                "inside the GEMM library, wherever called: %.1f%%\n",
                100 * gemmSeconds / all / step);
  return text + line;
}

double stepFlops(const plan::Plan &plan, int64_t microBatches) {
  double flops = 0;
  for (const plan::Entry &entry : plan.train().entries()) {
    bool once = entry.last() || entry.phase() == "optimizer";
    flops += entry.flops() * static_cast<double>(once ? 1 : microBatches);
  }
  return flops;
}

} // namespace shardc::runtime

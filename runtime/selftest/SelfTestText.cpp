// What a self-test found, as tables and as a file for shardc --cluster.
#include "runtime/selftest/SelfTest.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace shardc::runtime {

std::optional<double> SelfTestResult::leastBandwidth() const {
  std::optional<double> least;
  for (const LevelTimes &level : levels)
    for (const auto *times :
         {&level.allGather, &level.reduceScatter, &level.allReduce})
      least = std::min(least.value_or(times->back().bandwidth),
                       times->back().bandwidth);
  return least;
}

/// Powers of ten, as rates have them.
static std::string sizeText(int64_t bytes) {
  return bytes < 1'000'000 ? format("%.3g kB", 1e-3 * double(bytes))
                           : format("%.3g MB", 1e-6 * double(bytes));
}

static std::string cell(const CollectiveTime &time) {
  return format("%10.1f us %7.2f GB/s", 1e6 * time.seconds,
                1e-9 * time.bandwidth);
}

std::string SelfTestResult::text() const {
  std::string text;
  for (const LevelTimes &level : levels) {
    text += concat(level.name, ", ", level.size, " ranks\n",
                   format("  %-9s %24s %24s %24s\n", "", "all-gather",
                          "reduce-scatter", "all-reduce"));
    for (size_t i = 0; i < level.allGather.size(); ++i)
      text += format("  %-9s %s %s %s\n",
                     sizeText(level.allGather[i].bytes).c_str(),
                     cell(level.allGather[i]).c_str(),
                     cell(level.reduceScatter[i]).c_str(),
                     cell(level.allReduce[i]).c_str());
  }
  return text +
         format("each rank, while all compute: %.3f TFLOP/s in bf16, %.3f in "
                "float32, %.3f in float64; memory %.1f GB/s\n",
                1e-12 * rates.flops16, 1e-12 * rates.flops32,
                1e-12 * rates.flops64, 1e-9 * rates.memoryBandwidth);
}

/// A message's time is what the smallest all-gather takes in each of the S - 1
/// turns of a ring; its bytes are few.
static std::string linkText(const char *table, const LevelTimes &level) {
  double turns = double(level.size - 1);
  return format("\n[%s]\nbandwidth_gb_per_s = %.4g\nlatency_us = %.4g\n", table,
                1e-9 * std::min(level.allGather.back().bandwidth,
                                level.reduceScatter.back().bandwidth),
                1e6 * level.allGather.front().seconds / turns);
}

std::string SelfTestResult::cluster(const std::string &name) const {
  const LevelTimes *inside = nullptr, *between = nullptr;
  for (const LevelTimes &level : levels)
    if (level.size * level.stride <= ranksPerHost)
      inside = &level; // the widest of a host
    else if (level.stride == ranksPerHost)
      between = &level;
  std::string text =
      concat("name = \"", name, "\"\n",
             format("memory_gb = %.4g\nmemory_bandwidth_gb_per_s = %.4g\n",
                    1e-9 * rates.memory, 1e-9 * rates.memoryBandwidth));
  bool hasNodes = between && ranks > ranksPerHost;
  if (hasNodes)
    text += concat("ranks_per_node = ", ranksPerHost, "\n");
  // Where each host has one rank, nothing is inside: what is between stands for
  // it, or what there is where hosts are not alike.
  if (!inside && !levels.empty())
    inside = between ? between : &levels.back();
  if (inside)
    text += linkText("inside_node", *inside);
  if (hasNodes)
    text += linkText("between_nodes", *between);
  return text + format("\n[tflop_per_s]\nfloat64 = %.4g\nfloat32 = "
                       "%.4g\nbfloat16 = %.4g\n",
                       1e-12 * rates.flops64, 1e-12 * rates.flops32,
                       1e-12 * rates.flops16);
}

} // namespace shardc::runtime

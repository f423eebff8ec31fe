// --selftest: what the collectives of a run's ranks take, before anything is
// trained.
#ifndef SHARDC_RUNTIME_SELFTEST_SELFTEST_H
#define SHARDC_RUNTIME_SELFTEST_SELFTEST_H

#include "runtime/device/Platform.h"
#include "runtime/launch/World.h"
#include "runtime/selftest/SelfTestOptions.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A collective of some bytes, as the slowest rank saw it.
struct CollectiveTime {
  int64_t bytes = 0;  // of all slices together
  double seconds = 0; // median of several runs
  /// Bytes per second that a rank sends while it receives as many, if the
  /// collective is a ring: (S - 1) / S * bytes / seconds of S ranks, twice that
  /// for an all-reduce (nccl-tests, doc/PERFORMANCE.md: bus bandwidth).
  double bandwidth = 0;
};

/// What ranks that lie alike reach: those of a process, one of each process of
/// a host, one of each host, or all.
struct LevelTimes {
  std::string name;
  int64_t stride = 1, size = 1; // groups: Communicator::group
  std::vector<CollectiveTime> allGather, reduceScatter, allReduce;
};

struct SelfTestResult {
  int64_t ranks = 1, ranksPerHost = 1;
  std::vector<LevelTimes> levels;
  /// Of the slowest rank, while all of them compute.
  DeviceRates rates;

  /// The least bandwidth of the largest collectives; none where a run has one
  /// rank.
  std::optional<double> leastBandwidth() const;
  /// Tables for people.
  std::string text() const;
  /// A file for shardc --cluster (docs/cluster.md). `name`: of the machine.
  std::string cluster(const std::string &name) const;
};

/// Runs it, and does what the flags say with the result: process 0 prints it
/// with `print`. Returns the exit code. All processes call it.
int runSelfTest(World &world, const DeviceFactory &devices,
                const Platform &platform, const DeviceOptions &device,
                const SelfTestOptions &options,
                const std::function<void(const std::string &)> &print);

/// How long it measures.
struct SelfTestEffort {
  double secondsPerSize = 0.15; // more runs fit where a collective is fast
  int64_t leastRuns = 5, mostRuns = 400;
  int64_t mostBytes = 64'000'000; // of a collective
};

/// Runs collectives of 4 kB to 64 MB on all levels that the world has, checks
/// what they bring, and measures the devices. Throws an Error where a result is
/// wrong. All processes call it.
SelfTestResult selfTest(World &world, const DeviceFactory &devices,
                        const Platform &platform, const DeviceOptions &options,
                        const SelfTestEffort &effort = {});

} // namespace shardc::runtime

#endif

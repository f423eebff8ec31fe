// What a self-test measures, and what it makes of that.
#include "runtime/selftest/SelfTest.h"
#include "runtime/base/Memory.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Rates.h"
#include "runtime/device/Tickets.h"
#include "test/runtime/device/TestedDevices.h"
#include "test/runtime/launch/RanksInProcesses.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

/// Collectives of host memory.
class PlainProgram final : public DeviceProgram {
public:
  void add(PlacedEntry entry) override {
    entries.push_back(std::move(entry.what));
  }
  int64_t size() const override { return std::ssize(entries); }
  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &) override {
    for (int64_t i = begin; i < end; ++i) {
      const entry::Any &any = entries[size_t(i)];
      if (auto *gather = std::get_if<entry::StartAllGather>(&any))
        tickets.start(*gather);
      else if (auto *scatter = std::get_if<entry::StartReduceScatter>(&any))
        tickets.start(*scatter, numbers);
      else if (auto *reduce = std::get_if<entry::StartAllReduce>(&any))
        tickets.start(*reduce, numbers);
      else
        tickets.wait(std::get<entry::Wait>(any));
    }
  }

private:
  std::vector<entry::Any> entries;
  Tickets tickets;
};

/// Memory of the host, and nothing that computes.
class PlainDevice final : public Device {
public:
  std::byte *allocate(const std::string &name, int64_t bytes) override {
    memories.push_back(Memory::allocate(name, bytes));
    return memories.back().data();
  }
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override {
    return allocate(name, bytes);
  }
  std::byte *allocateShared(Communicator &, const std::string &,
                            int64_t) override {
    return nullptr;
  }
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return allocate(name, bytes);
  }
  void touch(std::byte *, int64_t) override {}
  void upload(std::byte *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void download(void *to, const std::byte *from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  std::unique_ptr<DeviceProgram> newProgram() override {
    return std::make_unique<PlainProgram>();
  }
  void settle() override {}
  void onHost(int64_t, int64_t,
              const std::function<void(int64_t, int64_t)> &) override {}

private:
  std::vector<Memory> memories;
};

class PlainPlatform : public Platform {
public:
  DeviceTraits traits(const shardc::plan::Plan &) const override { return {}; }
  void checkTarget(const shardc::plan::Plan &) const override {}
  int deviceCount(const shardc::plan::Plan &) const override { return 1; }
  void check(const shardc::plan::Plan &) const override {}
  int64_t bytesPerThread() const override { return 0; }
  DeviceRates measure(Device &, const DeviceOptions &,
                      int64_t ranksPerHost) const override {
    return {4e12, 2e12, 1e12, 3e10, 64e9 / double(ranksPerHost)};
  }
  DeviceFactory devices(const shardc::plan::Plan &, std::span<const std::byte>,
                        const DeviceOptions &) override {
    return [](Communicator &) { return std::make_unique<PlainDevice>(); };
  }
};

SelfTestResult measure(World &world, int64_t mostBytes = 64'000'000) {
  PlainPlatform platform;
  return selfTest(world, platform.devices({}, {}, {}), platform, {},
                  {0, 1, 1, mostBytes});
}

std::vector<std::string> namesOf(const SelfTestResult &result) {
  std::vector<std::string> names;
  for (const LevelTimes &level : result.levels)
    names.push_back(concat(level.name, ": ", level.size, " by ", level.stride));
  return names;
}

TEST(SelfTest, OneRankHasNoCollectives) {
  ThreadWorld world(1);
  SelfTestResult result = measure(world);
  EXPECT_TRUE(result.levels.empty());
  EXPECT_FALSE(result.leastBandwidth());
  EXPECT_EQ(result.rates.flops32, 2e12);
  EXPECT_NE(result.text().find(
                "4.000 TFLOP/s in bf16, 2.000 in float32, 1.000 in float64"),
            std::string::npos)
      << result.text();
}

TEST(SelfTest, ThreadsOfAProcess) {
  ThreadWorld world(2);
  SelfTestResult result = measure(world);
  EXPECT_EQ(namesOf(result), std::vector<std::string>{"in a process: 2 by 1"});
  const LevelTimes &level = result.levels[0];
  ASSERT_EQ(level.allGather.size(), 9u);
  EXPECT_EQ(level.allGather.front().bytes, 4000);
  EXPECT_EQ(level.allReduce.back().bytes, 64'000'000);
  for (const CollectiveTime &each : level.allReduce) {
    EXPECT_GT(each.seconds, 0);
    EXPECT_NEAR(each.bandwidth * each.seconds, double(each.bytes), 1);
  }
  EXPECT_EQ(result.rates.memory, 32e9) << "of each of two";
}

/// Measures what a GPU reaches as well.
class RatedPlatform final : public PlainPlatform {
public:
  DeviceRates measure(Device &device, const DeviceOptions &options,
                      int64_t ranksPerHost) const override {
    if (auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device))
      return cuda::ratesOf(*gpu);
    return PlainPlatform::measure(device, options, ranksPerHost);
  }
};

TEST(SelfTest, OnEveryKindOfDevice) {
  for (const TestedDevice &tested : testedDevices()) {
    if (tested.most < 2)
      continue;
    SCOPED_TRACE(tested.name);
    ThreadWorld world(2);
    RatedPlatform platform;
    SelfTestResult result =
        selfTest(world, tested.make, platform, {}, {0, 1, 1, 16'000});
    ASSERT_EQ(result.levels.size(), 1u);
    EXPECT_EQ(result.levels[0].reduceScatter.size(), 2u);
    EXPECT_GT(*result.leastBandwidth(), 0);
    const DeviceRates &rates = result.rates;
    for (double each : {rates.flops16, rates.flops32, rates.flops64,
                        rates.memoryBandwidth, rates.memory})
      EXPECT_GT(each, 1e6);
  }
}

/// What hosts are called, by process.
class OfHosts final : public World {
public:
  OfHosts(std::unique_ptr<World> world, std::vector<std::string> names)
      : world(std::move(world)), names(std::move(names)) {}
  int ranks() const override { return world->ranks(); }
  RankRange localRanks() const override { return world->localRanks(); }
  std::unique_ptr<Communicator> connect(int rank) override {
    return world->connect(rank);
  }
  std::vector<std::string> hosts() const override { return names; }

private:
  std::unique_ptr<World> world;
  std::vector<std::string> names;
};

/// Of process 0.
SelfTestResult measureProcesses(int each, std::vector<std::string> hosts) {
  int processes = int(hosts.size());
  std::vector<std::unique_ptr<Transport>> ends = memoryTransports(processes);
  std::vector<std::thread> threads;
  SelfTestResult result;
  for (int process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      OfHosts world(std::make_unique<ProcessWorld>(
                        Placement{process, processes, each},
                        std::move(ends[process]), nodesOf(processes, 1)),
                    hosts);
      SelfTestResult own = measure(world, 64'000);
      if (process == 0)
        result = std::move(own);
    });
  for (std::thread &thread : threads)
    thread.join();
  return result;
}

TEST(SelfTest, LevelsAreThoseOfTheRun) {
  EXPECT_EQ(
      namesOf(measureProcesses(2, {"a", "b"})),
      (std::vector<std::string>{"in a process: 2 by 1", "between hosts: 2 by 2",
                                "all ranks: 4 by 1"}));
  EXPECT_EQ(
      namesOf(measureProcesses(1, {"a", "a", "b", "b"})),
      (std::vector<std::string>{"between processes of a host: 2 by 1",
                                "between hosts: 2 by 2", "all ranks: 4 by 1"}));
  EXPECT_EQ(namesOf(measureProcesses(1, {"a", "a", "b"})),
            std::vector<std::string>{"between processes: 3 by 1"});
}

std::vector<CollectiveTime> times(double micro, double gigabytes) {
  return {{4000, 1e-6 * micro, 1e9}, {64'000'000, 1, 1e9 * gigabytes}};
}

TEST(SelfTest, WritesAClusterOfWhatItFound) {
  SelfTestResult result;
  result.ranks = 8;
  result.ranksPerHost = 4;
  result.rates = {4e12, 2e12, 1e12, 3e10, 16e9};
  result.levels = {
      {"in a process", 1, 4, times(30, 12), times(40, 10), times(50, 20)},
      {"between hosts", 4, 2, times(25, 2), times(35, 1.5), times(45, 1)},
      {"all ranks", 1, 8, times(99, 1), times(99, 1), times(99, 3)}};
  EXPECT_EQ(*result.leastBandwidth(), 1e9);
  EXPECT_EQ(result.cluster("two boxes"), R"(name = "two boxes"
memory_gb = 16
memory_bandwidth_gb_per_s = 30
ranks_per_node = 4

[inside_node]
bandwidth_gb_per_s = 10
latency_us = 10

[between_nodes]
bandwidth_gb_per_s = 1.5
latency_us = 25

[tflop_per_s]
float64 = 1
float32 = 2
bfloat16 = 4
)");
}

TEST(SelfTest, AHostOfOneRankHasALinkInside) {
  SelfTestResult result;
  result.ranks = 2;
  result.rates = {4e12, 2e12, 1e12, 3e10, 16e9};
  result.levels = {
      {"between hosts", 1, 2, times(25, 2), times(35, 1.5), times(45, 1)}};
  std::string text = result.cluster("two");
  EXPECT_NE(text.find("[inside_node]\nbandwidth_gb_per_s = 1.5\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[between_nodes]\nbandwidth_gb_per_s = 1.5\n"),
            std::string::npos)
      << text;
}

} // namespace

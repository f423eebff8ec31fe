// All ranks run the same collectives at the same time, size by size.
#include "runtime/selftest/SelfTest.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/files/OutputFile.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/selftest/Meter.h"

#include <mutex>

namespace shardc::runtime {
namespace {

/// The groups that a run of equal processes and hosts has.
std::vector<LevelTimes> levelsOf(const World &world, int64_t &ranksPerHost) {
  int64_t ranks = world.ranks(), each = world.ranksPerProcess();
  std::vector<std::string> hosts = world.hosts();
  int64_t processes = ranks / each, perHost = 1;
  while (perHost < processes && hosts[perHost] == hosts[0])
    ++perHost;
  // Processes of a host in a row, equally many on each.
  bool areAlike = processes % perHost == 0;
  for (int64_t process = 0; areAlike && process < processes; ++process)
    areAlike = hosts[process] == hosts[process / perHost * perHost] &&
               (process % perHost > 0 || process == 0 ||
                hosts[process] != hosts[process - 1]);
  if (!areAlike)
    perHost = processes;
  ranksPerHost = areAlike ? each * perHost : 1;

  std::vector<LevelTimes> levels;
  auto add = [&](const char *name, int64_t stride, int64_t size) {
    if (size > 1)
      levels.push_back({name, stride, size, {}, {}, {}});
  };
  add("in a process", 1, each);
  if (areAlike) {
    add("between processes of a host", each, perHost);
    add("between hosts", each * perHost, processes / perHost);
  } else
    add("between processes", each, processes);
  bool isMore = levels.size() > 1;
  if (isMore)
    add("all ranks", 1, ranks);
  return levels;
}

DeviceRates slowest(Communicator &world, DeviceRates rates) {
  // The least is the maximum of what is negative.
  double values[] = {-rates.flops16, -rates.flops32, -rates.flops64,
                     -rates.memoryBandwidth, -rates.memory};
  Segment segment{values, std::size(values), plan::FLOAT64, Combine::Max};
  world.allReduce({&segment, 1});
  return {-values[0], -values[1], -values[2], -values[3], -values[4]};
}

} // namespace

SelfTestResult selfTest(World &world, const DeviceFactory &devices,
                        const Platform &platform, const DeviceOptions &options,
                        const SelfTestEffort &effort) {
  SelfTestResult result;
  result.ranks = world.ranks();
  const std::vector<LevelTimes> levels = levelsOf(world, result.ranksPerHost);
  std::mutex mutex;
  world.run([&](Communicator &communicator) {
    std::unique_ptr<Device> device = devices(communicator);
    std::vector<LevelTimes> own = levels;
    // What allocates comes first: nothing does once programs run repeatedly.
    Meter meter(communicator, *device, effort);
    communicator.barrier();
    DeviceRates rates = slowest(
        communicator, platform.measure(*device, options, result.ranksPerHost));
    for (LevelTimes &level : own)
      meter.run(level);
    std::lock_guard lock(mutex);
    result.levels = std::move(own);
    result.rates = rates;
  });
  return result;
}

int runSelfTest(World &world, const DeviceFactory &devices,
                const Platform &platform, const DeviceOptions &device,
                const SelfTestOptions &options,
                const std::function<void(const std::string &)> &print) {
  std::optional<OutputFile> file;
  if (options.cluster && world.leads())
    file.emplace(*options.cluster);
  std::string where = world.text();
  if (world.leads())
    print(concat("self-test of ", world.ranks(), " ranks",
                 where.empty() ? ", threads of one process" : " in " + where,
                 "; ", device.workers,
                 device.workers == 1 ? " thread" : " threads", " per rank\n"));
  SelfTestResult result = selfTest(world, devices, platform, device);
  std::optional<double> least = result.leastBandwidth();
  if (options.least && !least)
    fail("--selftest-min needs two ranks or more, and this trainer has one");
  if (world.leads())
    print(result.text());
  if (file) {
    std::string text = result.cluster(std::to_string(world.ranks()) +
                                      " ranks that were measured");
    file->write(text.data(), text.size());
    file->commit();
  }
  if (!options.least || *least >= *options.least)
    return Done;
  if (world.leads())
    print(format("self-test: the least bandwidth of 64 MB is %.3g GB/s, below "
                 "--selftest-min %.3g GB/s\n",
                 1e-9 * *least, 1e-9 * *options.least));
  return SlowCollectives;
}

} // namespace shardc::runtime

// All ranks run the same collectives at the same time, size by size.
#include "runtime/selftest/SelfTest.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/files/OutputFile.h"
#include "runtime/launch/ExitCode.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t sizes[] = {4'000,      16'000,     64'000,
                             256'000,    1'000'000,  4'000'000,
                             16'000'000, 32'000'000, 64'000'000};
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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

/// One rank's part.
class Meter {
public:
  Meter(Communicator &world, Device &device, const SelfTestEffort &effort)
      : world(world), device(device), effort(effort),
        flat(floats("self-test", sizes[8])),
        part(floats("self-test's part", sizes[8])) {}

  void run(LevelTimes &level);

private:
  using Collective = std::function<void()>;

  float *floats(const char *name, int64_t bytes) {
    return reinterpret_cast<float *>(device.allocate(name, bytes + 4096));
  }
  void fill(float *at, int64_t count, float value) {
    values.assign(count, value);
    device.upload(reinterpret_cast<std::byte *>(at), values.data(),
                  count * int64_t(sizeof(float)));
  }
  void expect(const char *what, const float *at, float value) {
    float found;
    device.download(&found, reinterpret_cast<const std::byte *>(at),
                    sizeof(found));
    if (found != value)
      fail("the self-test's ", what, " brought ", found, " where ", value,
           " was expected");
  }
  double slowest(double seconds) {
    Segment segment{&seconds, 1, plan::FLOAT64, Combine::Max};
    world.allReduce({&segment, 1});
    return seconds;
  }
  /// The median of several runs, of the slowest rank.
  double time(const Collective &collective);

  Communicator &world;
  Device &device;
  const SelfTestEffort &effort;
  float *flat, *part;
  std::vector<float> values;
};

double Meter::time(const Collective &collective) {
  auto once = [&] {
    world.barrier();
    Clock::time_point begin = Clock::now();
    collective();
    return since(begin);
  };
  once();
  double first = slowest(once());
  auto runs = std::clamp(static_cast<int64_t>(effort.secondsPerSize / first),
                         effort.leastRuns, effort.mostRuns);
  std::vector<double> seconds;
  for (int64_t i = 0; i < runs; ++i)
    seconds.push_back(once());
  std::ranges::nth_element(seconds, seconds.begin() + runs / 2);
  return slowest(seconds[runs / 2]);
}

void Meter::run(LevelTimes &level) {
  Communicator &group = world.group(level.stride, level.size);
  int64_t size = group.size();
  double share = double(size - 1) / double(size);
  for (int64_t bytes : sizes) {
    if (bytes > effort.mostBytes)
      break;
    int64_t count = std::max<int64_t>(1, bytes / 4 / size);
    int64_t all = count * size * int64_t(sizeof(float));
    auto add = [&](std::vector<CollectiveTime> &times, double factor,
                   const Collective &collective) {
      double seconds = time(collective);
      times.push_back({all, seconds, factor * double(all) / seconds});
    };
    float own = float(group.rank() + 1);
    fill(part, count, own);
    add(level.allGather, share,
        [&] { group.finish(group.startAllGather(part, flat, count * 4)); });
    for (int64_t of = 0; of < size; ++of)
      expect("all-gather", flat + of * count, float(of + 1));
    float sum = float(size * (size + 1)) / 2;
    fill(flat, count * size, own);
    add(level.reduceScatter, share, [&] {
      group.finish(group.startReduceScatter(flat, part, count, plan::FLOAT32));
    });
    expect("reduce-scatter", part + count - 1, sum);
    // Sums of sums grow; a maximum would not be a reduction of floats alone.
    fill(flat, count * size, 0);
    Segment segment{flat, count * size, plan::FLOAT32};
    add(level.allReduce, 2 * share, [&] { group.allReduce({&segment, 1}); });
    fill(flat, count * size, own);
    group.allReduce({&segment, 1});
    expect("all-reduce", flat + count * size - 1, sum);
  }
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
    Meter meter(communicator, *device, effort);
    for (LevelTimes &level : own)
      meter.run(level);
    communicator.barrier();
    DeviceRates rates = slowest(communicator, platform.measure(options));
    rates.memory /= double(result.ranksPerHost);
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

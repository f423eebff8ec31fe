// Each collective is a program of its own, run as a step's programs are.
#include "runtime/selftest/Meter.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <chrono>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t sizes[] = {4'000,      16'000,     64'000,
                             256'000,    1'000'000,  4'000'000,
                             16'000'000, 32'000'000, 64'000'000};

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Tensor first(Tensor tensor, int64_t count) {
  tensor.shape = {count};
  return tensor;
}

} // namespace

Meter::Meter(Communicator &world, Device &device, const SelfTestEffort &effort)
    : world(world), device(device), effort(effort),
      flat(allocate("self-test", plan::FLOAT32)),
      part(allocate("self-test's part", plan::FLOAT32)),
      workspace(allocate("self-test's workspace", plan::UINT8)) {}

Tensor Meter::allocate(const char *name, plan::DType dtype) {
  int64_t bytes = sizes[std::size(sizes) - 1] + 4096;
  Tensor made;
  made.data = device.allocateCommunicated(name, bytes);
  made.dtype = dtype;
  made.shape = {bytes / int64_t(elementSize(dtype))};
  made.strides = {1};
  return made;
}

void Meter::fill(const Tensor &tensor, float value) {
  std::vector<float> values(size_t(tensor.elements()), value);
  device.upload(tensor.data, values.data(),
                tensor.elements() * int64_t(sizeof(float)));
}

void Meter::expect(const char *what, const Tensor &tensor, int64_t element,
                   float value) {
  float found;
  device.download(&found, tensor.data + element * int64_t(sizeof(float)),
                  sizeof(found));
  if (found != value)
    fail("the self-test's ", what, " brought ", found, " where ", value,
         " was expected");
}

double Meter::slowest(double seconds) {
  Segment segment{&seconds, 1, plan::FLOAT64, Combine::Max};
  world.allReduce({&segment, 1});
  return seconds;
}

std::unique_ptr<DeviceProgram> Meter::programOf(const char *name,
                                                entry::Any collective) {
  std::unique_ptr<DeviceProgram> program = device.newProgram();
  std::string place = concat("the self-test's ", name);
  program->add({std::move(collective), 0, place});
  program->add({entry::Wait{0, /*finishes=*/true}, 0, place});
  return program;
}

void Meter::runOnce(DeviceProgram &program) {
  Measurements measurements;
  program.run(0, program.size(), {}, measurements);
  device.settle();
}

double Meter::time(DeviceProgram &program) {
  auto once = [&] {
    world.barrier();
    Clock::time_point begin = Clock::now();
    runOnce(program);
    return since(begin);
  };
  // Libraries make ready what they need, then a device may record the program.
  once();
  once();
  double first = slowest(once());
  auto runs = std::clamp(static_cast<int64_t>(effort.secondsPerSize / first),
                         effort.leastRuns, effort.mostRuns);
  std::vector<double> seconds;
  for (int64_t i = 0; i < runs; ++i)
    seconds.push_back(once());
  std::ranges::nth_element(seconds, seconds.begin() + runs / 2);
  return slowest(seconds[size_t(runs / 2)]);
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
                   DeviceProgram &program) {
      double seconds = time(program);
      times.push_back({all, seconds, factor * double(all) / seconds});
    };
    Tensor whole = first(flat, count * size), own = first(part, count);
    float number = float(group.rank() + 1);
    fill(own, number);
    auto gather =
        programOf("all-gather", entry::StartAllGather{0, &group, own, whole});
    add(level.allGather, share, *gather);
    for (int64_t of = 0; of < size; ++of)
      expect("all-gather", whole, of * count, float(of + 1));
    float sum = float(size * (size + 1)) / 2;
    fill(whole, number);
    auto scatter = programOf(
        "reduce-scatter",
        entry::StartReduceScatter{0, &group, whole, own, {}, workspace});
    add(level.reduceScatter, share, *scatter);
    expect("reduce-scatter", own, count - 1, sum);
    // Sums of sums grow; a maximum would not be a reduction of floats alone.
    fill(whole, 0);
    auto reduce = programOf(
        "all-reduce",
        entry::StartAllReduce{0, &group, {whole}, {false}, {}, workspace});
    add(level.allReduce, 2 * share, *reduce);
    fill(whole, number);
    runOnce(*reduce);
    expect("all-reduce", whole, count * size - 1, sum);
  }
}

} // namespace shardc::runtime

// Programs of a GPU.
#include "runtime/cuda/CudaProgram.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/Faults.h"
#include "runtime/cuda/collectives/NcclGroups.h"
#include "runtime/cuda/kernels/Parameters.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace shardc::runtime::cuda {

CudaProgram::~CudaProgram() {
  device.groups->release();
  const Driver &driver = device.context.driver;
  for (auto &[variant, capture] : captures)
    if (capture.graph)
      driver.cuGraphExecDestroy.function(capture.graph);
  for (CUevent event : clocks)
    driver.cuEventDestroy.function(event);
  if (device.running == this)
    device.running = nullptr;
}

void CudaProgram::add(PlacedEntry entry) {
  device.faults->place = entry.place;
  Task task = std::visit([&](const auto &what) { return bind(device, what); },
                         entry.what);
  std::visit(
      [&](const auto &what) {
        using Kind = std::remove_cvref_t<decltype(what)>;
        if constexpr (std::is_same_v<Kind, entry::Wait>)
          awaitsOthers |= open.erase(what.id) == 0;
        else if constexpr (requires { what.group; })
          open.insert(what.id);
      },
      entry.what);
  if (std::holds_alternative<entry::Wait>(entry.what))
    task = [this, task, index = entry.planEntry] {
      device.noteWaits(index, true);
      task();
      device.noteWaits(index, false);
    };
  entries.push_back({std::move(task), entry.planEntry, entry.turn,
                     std::move(entry.place), std::move(entry.nodes)});
}

std::string CudaProgram::placeBehind(int planEntry) const {
  auto first = std::ranges::find(entries, planEntry, &Bound::planEntry);
  if (first == entries.end())
    return "a program that has not begun";
  int64_t index = first - entries.begin();
  int64_t next = (index / notedEvery + 1) * notedEvery;
  int64_t others = std::min(next, size()) - index - 1;
  return others > 0
             ? concat(first->describe(), ", or one of the ", others,
                      " behind it, up to ", entries[index + others].describe())
             : first->describe();
}

void CudaProgram::upload(const StepNumbers &numbers) {
  device.numbers = numbers;
  RunNumbers of = {};
  of.gradientFactor = numbers.gradientFactor;
  of.learningRate = numbers.learningRate;
  of.firstCorrection = 1 - std::pow(numbers.beta1, numbers.step);
  of.secondCorrection = std::sqrt(1 - std::pow(numbers.beta2, numbers.step));
  of.clip = numbers.clip;
  of.norm = numbers.clipNorm == Norm::One   ? 1
            : numbers.clipNorm == Norm::Two ? 2
                                            : 0;
  device.upload(reinterpret_cast<std::byte *>(device.runNumbers), &of,
                sizeof(of));
}

void CudaProgram::enqueue(int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const Bound &entry = entries[i];
    if (!isDue(entry.turn, device.numbers))
      continue;
    if (i % notedEvery == 0)
      device.noteWaits(entry.planEntry, false);
    try {
      entry.task();
    } catch (const Aborted &) {
      throw;
    } catch (const DriverError &error) {
      device.failed(error.isOfTheDevice() ? device.placeReached()
                                          : entry.describe(),
                    error);
    } catch (const Error &error) {
      device.failed(entry.describe(), error);
    }
  }
}

void CudaProgram::enqueueTimed(int64_t begin, int64_t end,
                               Measurements &measured) {
  const Driver &driver = device.context.driver;
  auto count = size_t(end - begin) + 1;
  while (clocks.size() < count)
    driver.cuEventCreate(&clocks.emplace_back(), CU_EVENT_DEFAULT);
  auto from = std::chrono::steady_clock::now().time_since_epoch();
  driver.cuEventRecord(clocks[0], device.compute);
  for (int64_t i = begin; i < end; ++i) {
    enqueue(i, i + 1);
    driver.cuEventRecord(clocks[size_t(i - begin) + 1], device.compute);
  }
  device.settle();
  double at = std::chrono::duration<double>(from).count();
  for (int64_t i = begin; i < end; ++i) {
    if (!isDue(entries[i].turn, device.numbers))
      continue;
    float milliseconds = 0;
    driver.cuEventElapsedTime(&milliseconds, clocks[size_t(i - begin)],
                              clocks[size_t(i - begin) + 1]);
    double seconds = double(milliseconds) * 1e-3;
    int planEntry = entries[i].planEntry;
    measured.profile.entrySeconds[planEntry] += seconds;
    if (measured.recording)
      measured.events.push_back({planEntry, at, at + seconds});
    at += seconds;
  }
}

CUgraphExec CudaProgram::capture(int64_t begin, int64_t end) {
  const Driver &driver = device.context.driver;
  driver.cuStreamBeginCapture(device.compute,
                              CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUgraph graph = nullptr;
  try {
    enqueue(begin, end);
  } catch (...) {
    driver.cuStreamEndCapture.function(device.compute, &graph);
    if (graph)
      driver.cuGraphDestroy.function(graph);
    throw;
  }
  driver.cuStreamEndCapture(device.compute, &graph);
  CUgraphExec executable = nullptr;
  CUresult result = driver.cuGraphInstantiate.function(&executable, graph, 0);
  driver.cuGraphDestroy.function(graph);
  if (result != CUDA_SUCCESS)
    driver.failed(result, "cuGraphInstantiate");
  return executable;
}

void CudaProgram::run(int64_t begin, int64_t end, const StepNumbers &numbers,
                      Measurements &measured) {
  device.note = measured.note;
  device.running = this;
  upload(numbers);
  if (begin == end)
    return;
  if (measured.timed || measured.recording)
    return enqueueTimed(begin, end, measured);
  // No graph leaves collectives on their way, or awaits those of others.
  if (!device.capturesGraphs || begin != 0 || end != size() || awaitsOthers ||
      !open.empty())
    return enqueue(begin, end);
  Capture &capture =
      captures[{begin, end, numbers.microBatch == 0, numbers.endsStep()}];
  if (capture.runs++ == 0)
    return enqueue(begin, end);
  try {
    if (!capture.graph)
      capture.graph = this->capture(begin, end);
    device.context.driver.cuGraphLaunch(capture.graph, device.compute);
  } catch (const DriverError &error) {
    device.failedBefore(error);
  }
}

} // namespace shardc::runtime::cuda

// Norms, exact sums, sums over micro-batches, optimizer steps and metrics.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/kernels/OptimizerParameters.h"
#include "runtime/cuda/kernels/SumsParameters.h"

#include <algorithm>
#include <map>

namespace shardc::runtime::cuda {
namespace {

/// A table that kernels read, in the device's memory from now on.
template <typename Row>
CUdeviceptr uploadTable(CudaDevice &device, const std::vector<Row> &rows) {
  auto bytes = int64_t(rows.size() * sizeof(Row));
  CUdeviceptr table = device.allocateSmall(bytes);
  device.upload(reinterpret_cast<std::byte *>(table), rows.data(), bytes);
  return table;
}

/// Appends the rows of a gradient as parts for one block each.
void addParts(std::vector<NormPart> &parts, const Tensor &gradient,
              const std::vector<entry::Rows> &rows) {
  auto size = int64_t(elementSize(gradient.dtype));
  auto add = [&](int64_t begin, int64_t count, int64_t width) {
    parts.push_back(
        {addressOf(gradient) + uint64_t(begin * size), count, width});
  };
  for (const entry::Rows &all : rows) {
    if (all.width > mostNormElements) {
      for (int64_t row = 0; row < all.count; ++row)
        for (int64_t at = 0; at < all.width; at += mostNormElements)
          add(all.begin + row * all.width + at, 1,
              std::min(int64_t(mostNormElements), all.width - at));
      continue;
    }
    int64_t rowsAtOnce = mostNormElements / std::max<int64_t>(1, all.width);
    for (int64_t row = 0; row < all.count; row += rowsAtOnce)
      add(all.begin + row * all.width, std::min(rowsAtOnce, all.count - row),
          all.width);
  }
}

Grid partsGrid(int64_t parts) {
  return {gridFor(parts * exactThreads, exactThreads).blocks, exactThreads};
}

Task oneBlock(CudaDevice &device, const char *kernel, const auto &parameters) {
  return kernelTask(device, "ExactSums", kernel, {1, exactThreads}, parameters);
}

/// Contiguous elements to those of another type, or of the same.
Task convertTask(CudaDevice &device, const Tensor &from, const Tensor &to,
                 int64_t elements) {
  if (from.dtype == to.dtype)
    return [&device, source = addressOf(from), destination = addressOf(to),
            bytes = size_t(elements) * elementSize(to.dtype)] {
      device.context.driver.cuMemcpyDtoDAsync(destination, source, bytes,
                                              device.compute);
    };
  return kernelTask(device, "Copy",
                    std::string("cast_") + suffixOf(from.dtype) + "_" +
                        suffixOf(to.dtype),
                    gridFor(elements, copyThreads),
                    CastParameters{addressOf(from), addressOf(to), elements});
}

Task addTask(CudaDevice &device, const Tensor &to, const Tensor &from,
             int64_t elements) {
  return kernelTask(device, "Sums",
                    std::string("add_") + suffixOf(to.dtype) + "_" +
                        suffixOf(from.dtype),
                    gridFor((elements + 3) / 4, copyThreads),
                    AddParameters{addressOf(to), addressOf(from), elements});
}

} // namespace

Task bind(CudaDevice &device, const entry::GradientNorm &entry) {
  // By type: one launch for all gradients of it.
  std::map<plan::DType, std::vector<NormPart>> parts;
  for (size_t i = 0; i < entry.gradients.size(); ++i)
    addParts(parts[entry.gradients[i].dtype], entry.gradients[i],
             entry.rows[i]);
  CUdeviceptr sum = addressOf(entry.result);
  std::vector<Task> tasks = {
      [&device, sum, previous = addressOf(entry.previous)] {
        constexpr size_t bytes = exactWords * sizeof(int64_t);
        if (previous)
          device.context.driver.cuMemcpyDtoDAsync(sum, previous, bytes,
                                                  device.compute);
        else
          device.context.driver.cuMemsetD8Async(sum, 0, bytes, device.compute);
      }};
  for (const auto &[dtype, own] : parts)
    if (!own.empty())
      tasks.push_back(kernelTask(
          device, "ExactSums", std::string("norm_") + suffixOf(dtype),
          partsGrid(std::ssize(own)),
          NormParameters{uploadTable(device, own), std::ssize(own),
                         device.runNumbers, sum}));
  tasks.push_back(oneBlock(device, "exact_finish",
                           ExactFinishParameters{sum, device.runNumbers}));
  return [tasks] {
    for (const Task &task : tasks)
      task();
  };
}

Task bind(CudaDevice &device, const entry::ExactSum &entry) {
  return oneBlock(
      device, "exact_sum",
      ExactSumParameters{addressOf(entry.value), addressOf(entry.sum)});
}

Task bind(CudaDevice &device, const entry::RoundSum &entry) {
  return oneBlock(device, "round_sum",
                  RoundSumParameters{addressOf(entry.sum),
                                     addressOf(entry.value), entry.norm,
                                     device.runNumbers});
}

Task bind(CudaDevice &device, const entry::Accumulate &entry) {
  const Tensor &value = entry.value, &sum = entry.accumulator;
  int64_t elements = value.elements();
  if (elements == 0)
    return [] {};
  return [&device, begin = convertTask(device, value, sum, elements),
          goOn = addTask(device, sum, value, elements),
          end = addTask(device, value, sum, elements)] {
    const StepNumbers &numbers = device.numbers;
    if (numbers.microBatches == 1)
      return;
    if (numbers.microBatch == 0)
      begin();
    else if (!numbers.endsStep())
      goOn();
    else
      end();
  };
}

Task bind(CudaDevice &device, const entry::Metric &entry) {
  return convertTask(device, entry.value, entry.slot, 1);
}

static const char *kernelKind(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::AdamW:
  case OptimizerKind::Adam:
  case OptimizerKind::AmsGrad:
  case OptimizerKind::Muon: // of what is no matrix
    return "adam";
  case OptimizerKind::Sgd:
    return "sgd";
  case OptimizerKind::Lion:
    return "lion";
  case OptimizerKind::Adagrad:
    return "adagrad";
  }
  fail("no formula of this optimizer");
}

static CopyType copyTypeOf(const Tensor &copy) {
  switch (copy.dtype) {
  case plan::FLOAT32:
    return CopyFloat32;
  case plan::BFLOAT16:
    return CopyBfloat16;
  case plan::FLOAT16:
    return CopyFloat16;
  default:
    fail("expects parameters of at most 32 bits beside master weights, got ",
         copy.describe());
  }
}

/// What a step's launches have in common.
static OptimizerParameters parametersOf(CudaDevice &device,
                                        const entry::OptimizerStep &entry) {
  OptimizerParameters of = {};
  of.numbers = device.runNumbers;
  of.norm = addressOf(entry.norm);
  of.loss = addressOf(entry.loss);
  of.skipped = addressOf(entry.skipped);
  of.master = addressOf(entry.master);
  of.gradient = addressOf(entry.gradient);
  of.lower = addressOf(entry.remainder);
  if (entry.remainder)
    of.words = of.lower + uint64_t(splitLowerBytes(entry.master.elements()));
  for (size_t i = 0; i < entry.states.size(); ++i)
    of.states[i] = addressOf(entry.states[i]);
  of.copy = addressOf(entry.copy);
  if (entry.copy)
    of.copyType = copyTypeOf(entry.copy);
  of.isDecoupled = entry.kind != OptimizerKind::Adam;
  return of;
}

/// What one kernel updates: matrices, running statistics, or all else.
enum class Part { Own, Matrices, Running };

static Part partOf(const entry::Range &range) {
  return range.isMatrix    ? Part::Matrices
         : range.isRunning ? Part::Running
                           : Part::Own;
}

static OptimizerRange rangeOf(const entry::Range &range) {
  return {range.begin,
          range.end,
          range.numbers.learningRateScale,
          range.numbers.weightDecay,
          range.isMatrix ? range.numbers.matrixScale : 0,
          range.laterStates - range.begin};
}

/// Also where there are no ranges, the optimizer's own kernel says whether it
/// skipped.
static Task stepTask(CudaDevice &device, const entry::OptimizerStep &entry,
                     Part part) {
  OptimizerParameters of = parametersOf(device, entry);
  std::vector<OptimizerRange> ranges;
  int64_t elements = 0;
  for (const entry::Range &range : entry.ranges) {
    if (partOf(range) != part)
      continue;
    ranges.push_back(rangeOf(range));
    elements += range.end - range.begin;
  }
  if (ranges.empty() && part != Part::Own)
    return [] {};
  if (part != Part::Own)
    std::fill(std::begin(of.states), std::end(of.states), Address{0});
  const Tensor &by = part == Part::Matrices ? entry.direction : entry.gradient;
  of.gradient = addressOf(by);
  of.ranges = ranges.empty() ? 0 : uploadTable(device, ranges);
  of.rangeCount = std::ssize(ranges);
  CUfunction kernel = device.ownKernel(
      "Optimizer",
      std::string("optimizer_") +
          (part == Part::Own ? kernelKind(entry.kind) : "follow") + "_" +
          (entry.remainder ? "split" : suffixOf(entry.master.dtype)) + "_" +
          suffixOf(by.dtype));
  Grid grid = gridFor(elements / 4, copyThreads);
  return [&device, kernel, grid, of]() mutable {
    const StepNumbers &numbers = device.numbers;
    if (!of.norm && numbers.clip > 0)
      fail("expects a norm to clip by, got none");
    of.beta1 = numbers.beta1, of.beta2 = numbers.beta2;
    of.epsilon = numbers.epsilon;
    of.momentum = numbers.momentum, of.nesterov = numbers.nesterov;
    device.launch(kernel, grid, of);
  };
}

Task bind(CudaDevice &device, const entry::OptimizerStep &entry) {
  return [own = stepTask(device, entry, Part::Own),
          matrices = stepTask(device, entry, Part::Matrices),
          running = stepTask(device, entry, Part::Running)] {
    own();
    matrices();
    running();
  };
}

Task bind(CudaDevice &device, const entry::MatrixDirection &entry) {
  MomentumParameters of = {};
  of.numbers = device.runNumbers;
  of.norm = addressOf(entry.norm);
  of.loss = addressOf(entry.loss);
  of.gradient = addressOf(entry.gradient);
  of.state = addressOf(entry.state);
  of.direction = addressOf(entry.direction);
  of.elements = entry.direction.elements();
  std::vector<OptimizerRange> ranges;
  int64_t elements = 0;
  for (const entry::Range &range : entry.ranges) {
    ranges.push_back(rangeOf(range));
    elements += range.end - range.begin;
  }
  if (ranges.empty())
    return [] {};
  of.ranges = uploadTable(device, ranges);
  of.rangeCount = std::ssize(ranges);
  CUfunction kernel = device.ownKernel(
      "Optimizer", std::string("momentum_") + suffixOf(entry.state.dtype) +
                       "_" + suffixOf(entry.gradient.dtype));
  Grid grid = gridFor(elements, copyThreads);
  return [&device, kernel, grid, of]() mutable {
    of.momentum = device.numbers.momentum;
    of.nesterov = device.numbers.nesterov;
    device.launch(kernel, grid, of);
  };
}

} // namespace shardc::runtime::cuda

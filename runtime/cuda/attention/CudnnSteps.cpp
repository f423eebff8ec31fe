// The workspace of an entry is cut into what the steps keep there.
#include "runtime/cuda/attention/CudnnSteps.h"

#include "runtime/base/DType.h"
#include "runtime/cuda/attention/ScoresInMemory.h"
#include "runtime/cuda/bind/Bind.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime::cuda {
namespace {

/// Parts of a workspace, each at a multiple of 256 bytes of it.
class Room {
public:
  explicit Room(const Tensor &workspace)
      : begin(addressOf(workspace)),
        left(workspace
                 ? workspace.elements() * int64_t(elementSize(workspace.dtype))
                 : 0) {}
  CUdeviceptr take(int64_t bytes) {
    bytes = (bytes + 255) / 256 * 256;
    left -= bytes;
    return begin + CUdeviceptr(std::exchange(used, used + bytes));
  }
  void leave(CudnnSteps &to) const {
    to.workspace = begin + CUdeviceptr(used);
    to.workspaceBytes = left;
  }

private:
  CUdeviceptr begin;
  int64_t left, used = 0;
};

/// A tensor of float32, as the device has it.
Tensor floats(std::vector<int64_t> shape, CUdeviceptr address) {
  Tensor result;
  result.data = reinterpret_cast<std::byte *>(address);
  result.dtype = plan::FLOAT32;
  result.strides = rowMajorStrides(shape);
  result.shape = std::move(shape);
  return result;
}

/// The shape of bias and mask together.
std::vector<int64_t> addedShape(const entry::AttentionOperands &of) {
  std::vector<int64_t> shape = {1, 1, 1, of.key.shape[1]};
  if (of.bias)
    std::copy_n(of.bias.shape.begin(), 3, shape.begin());
  if (of.keyMask)
    shape[0] = of.query.shape[0];
  return shape;
}

AttentionBiasParameters biasParameters(const entry::AttentionOperands &of,
                                       const Tensor &to) {
  AttentionBiasParameters with{};
  with.to = addressOf(to);
  std::ranges::copy(to.shape, with.shape);
  if (of.bias) {
    with.bias = addressOf(of.bias);
    with.biasIsFloat32 = of.bias.dtype == plan::FLOAT32;
    for (int dim = 0; dim < 4; ++dim)
      with.biasStrides[dim] =
          of.bias.shape[dim] == 1 ? 0 : of.bias.strides[dim];
  }
  if (of.keyMask) {
    with.keyMask = addressOf(of.keyMask);
    std::copy_n(of.keyMask.strides.begin(), 2, with.keyMaskStrides);
  }
  return with;
}

AttentionUnseenParameters unseenParameters(const entry::Attention &entry) {
  const Tensor &output = entry.output;
  return {viewOf(output),  addressOf(entry.logSumExp),
          output.shape[0], output.shape[1],
          output.shape[2], output.shape[3]};
}

/// What is added to the scores, as a tensor that a kernel makes; none: nothing.
Tensor addends(const entry::AttentionOperands &of, Room &room,
               CudnnSteps &steps) {
  if (!of.bias && !of.keyMask)
    return {};
  Tensor bias = floats(addedShape(of), 0);
  bias.data = reinterpret_cast<std::byte *>(room.take(bias.elements() * 4));
  steps.bias = biasParameters(of, bias);
  return bias;
}

} // namespace

CudnnSteps cudnnSteps(const entry::Attention &entry) {
  const entry::AttentionOperands &of = entry.operands;
  CudnnSteps steps;
  Room room(entry.workspace);
  entry::Attention with = entry;
  Tensor bias = addends(of, room, steps);
  if (bias) {
    if (const std::vector<int64_t> &query = of.query.shape; !with.logSumExp) {
      with.logSumExp = floats({query[0], query[2], query[1]}, 0);
      with.logSumExp.data = reinterpret_cast<std::byte *>(
          room.take(with.logSumExp.elements() * 4));
    }
    steps.unseen = unseenParameters(with);
  }
  steps.graph = attentionGraph(with, bias);
  room.leave(steps);
  return steps;
}

/// Has the own kernel find what a row's exponentials are, and scales the output's
/// gradient: with dO' = factor dO and P' = exp(scores - shift), which is P /
/// factor, all of P'^T dO' and P' (dO' V^T - dO' O) are what they should be.
static entry::AttentionGrad withRowsFound(const entry::AttentionGrad &entry,
                                          const Tensor &bias, Room &room,
                                          CudnnSteps &steps) {
  entry::AttentionGrad with = entry;
  with.operands.bias = bias;
  with.operands.keyMask = {};
  int64_t bytes = attentionGradWorkspace(with.operands);
  with.workspace = {};
  with.workspace.dtype = plan::UINT8;
  with.workspace.shape = {bytes}, with.workspace.strides = {1};
  with.workspace.data = reinterpret_cast<std::byte *>(room.take(bytes));
  steps.rows = launchesOf(with, /*mostSharedBytes=*/0);
  steps.rows->launches.resize(1);
  const AttentionGradParameters &found = steps.rows->parameters;
  const std::vector<int64_t> &shape = entry.gradient.shape;
  with.logSumExp.data = reinterpret_cast<std::byte *>(found.shifts);
  with.gradient.strides = rowMajorStrides(shape);
  with.gradient.data =
      reinterpret_cast<std::byte *>(room.take(entry.gradient.elements() * 2));
  steps.scaled = {viewOf(entry.gradient),
                  found.factors,
                  addressOf(with.gradient),
                  shape[0],
                  shape[1],
                  shape[2],
                  shape[3]};
  return with;
}

static CudnnSteps stepsOf(const entry::AttentionGrad &entry, QuerySums sums) {
  CudnnSteps steps;
  Room room(entry.workspace);
  entry::AttentionGrad with = entry;
  Tensor bias = addends(entry.operands, room, steps);
  if (bias)
    with = withRowsFound(entry, bias, room, steps);
  AttentionGradMemory memory = attentionGradMemory(entry, sums, 0);
  memory.address = room.take(memory.bytes);
  steps.graph = attentionGradGraph(with, bias, sums, memory);
  room.leave(steps);
  return steps;
}

namespace {

/// The indices [first, first + count) of a dim; a dim of 1 is for all of them.
void cut(Tensor &tensor, int dim, int64_t first, int64_t count) {
  if (!tensor || tensor.shape[dim] == 1)
    return;
  tensor.data +=
      first * tensor.strides[dim] * int64_t(elementSize(tensor.dtype));
  tensor.shape[dim] = count;
}

/// `sample` and `group`: the first ones of the part.
entry::AttentionGrad partOf(entry::AttentionGrad entry,
                            const ScoresInMemory &part, int64_t sample,
                            int64_t group) {
  entry::AttentionOperands &of = entry.operands;
  int64_t head = group * part.headsPerGroup;
  for (Tensor *each :
       {&of.query, &entry.gradient, &entry.output, &entry.queryGradient}) {
    cut(*each, 0, sample, part.samples);
    cut(*each, 2, head, part.heads());
  }
  for (Tensor *each :
       {&of.key, &of.value, &entry.keyGradient, &entry.valueGradient}) {
    cut(*each, 0, sample, part.samples);
    cut(*each, 2, group, part.groups);
  }
  for (Tensor *each : {&of.bias, &entry.logSumExp}) {
    cut(*each, 0, sample, part.samples);
    cut(*each, 1, head, part.heads());
  }
  cut(of.keyMask, 0, sample, part.samples);
  return entry;
}

} // namespace

std::vector<CudnnSteps> cudnnSteps(const entry::AttentionGrad &entry,
                                   QuerySums sums) {
  const std::vector<int64_t> &query = entry.operands.query.shape,
                             &key = entry.operands.key.shape;
  ScoresInMemory whole = {.samples = query[0],
                          .groups = key[2],
                          .headsPerGroup = query[2] / key[2],
                          .queries = query[1],
                          .keys = key[1],
                          .dims = key[3] + entry.operands.value.shape[3],
                          .elementBytes =
                              int64_t(elementSize(entry.operands.query.dtype))};
  if (sums == QuerySums::Scores)
    for (const ScoresInMemory &part : whole.parts()) {
      std::vector<CudnnSteps> all = {stepsOf(partOf(entry, part, 0, 0), sums)};
      if (all[0].workspaceBytes < part.bytes())
        continue;
      for (int64_t sample = 0; sample < whole.samples; sample += part.samples)
        for (int64_t group = 0; group < whole.groups; group += part.groups)
          if (sample + group > 0)
            all.push_back(stepsOf(partOf(entry, part, sample, group), sums));
      return all;
    }
  return {stepsOf(entry, sums)};
}

} // namespace shardc::runtime::cuda

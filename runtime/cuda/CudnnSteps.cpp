// The workspace of an entry is cut into what the steps keep there.
#include "runtime/cuda/CudnnSteps.h"

#include "runtime/base/DType.h"
#include "runtime/cuda/Bind.h"

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
  return {{addressOf(output), output.strides[0], output.strides[1],
           output.strides[2]},
          addressOf(entry.logSumExp),
          output.shape[0],
          output.shape[1],
          output.shape[2],
          output.shape[3]};
}

} // namespace

CudnnSteps cudnnSteps(const entry::Attention &entry) {
  const entry::AttentionOperands &of = entry.operands;
  CudnnSteps steps;
  Room room(entry.workspace);
  entry::Attention with = entry;
  Tensor bias;
  if (of.bias || of.keyMask) {
    bias = floats(addedShape(of), 0);
    bias.data = reinterpret_cast<std::byte *>(room.take(bias.elements() * 4));
    steps.bias = biasParameters(of, bias);
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

CudnnSteps cudnnSteps(const entry::AttentionGrad &entry, QuerySums sums) {
  CudnnSteps steps;
  Room room(entry.workspace);
  AttentionGradMemory memory = attentionGradMemory(entry, sums, 0);
  memory.address = room.take(memory.bytes);
  steps.graph = attentionGradGraph(entry, sums, memory);
  room.leave(steps);
  return steps;
}

} // namespace shardc::runtime::cuda

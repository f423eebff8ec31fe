// Sums in the order of the ranks.
#include "runtime/base/DType.h"
#include "runtime/cuda/collectives/Combiner.h"
#include "runtime/cuda/collectives/Reductions.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

/// A value of an all-reduce: part by part, all ranks' parts arrive, and every
/// rank adds them up.
class AllReduced {
public:
  AllReduced(CudaDevice &device, NcclGroup &group, const SummedValue &value,
             const Tensor &workspace)
      : device(device), group(group), combiner(device, value.value.dtype),
        whole(Sum::of(value.value, value.accumulator)), isNorm(value.isNorm),
        size(int64_t(elementSize(whole.dtype))),
        sumSize(int64_t(elementSize(Communicator::sumType(whole.dtype)))),
        arrivals(addressOf(workspace)), most(whole.count) {
    if (group.size == 1 || whole.count == 0)
      return;
    requireWorkspace(workspace, size * group.size);
    most = std::min(most, workspace.elements() / size / group.size);
  }

  void enqueue() const {
    const CommStream &in = group.reductions;
    bool isLargest = isNorm && device.numbers.clipNorm == Norm::Inf;
    for (int64_t at = 0; at < whole.count; at += most) {
      Sum part = whole;
      part.count = std::min(most, whole.count - at);
      part.result += at * size;
      part.running += part.running ? at * sumSize : 0;
      CUdeviceptr slices = part.result;
      if (group.size > 1) {
        const Nccl &nccl = device.context.libraries.nccl();
        slices = arrivals;
        nccl.check(nccl.ncclAllGather(pointer(part.result), pointer(slices),
                                      size_t(part.count * size), ncclUint8,
                                      in.comm, in.stream),
                   "ncclAllGather", in.comm);
      }
      combiner.enqueue(in.stream, part, slices, part.count, group.size,
                       isLargest);
    }
  }

private:
  CudaDevice &device;
  NcclGroup &group;
  Combiner combiner;
  Sum whole;
  bool isNorm;
  int64_t size, sumSize;
  CUdeviceptr arrivals; // of the parts of all ranks
  int64_t most;         // elements of a part
};

} // namespace

Task orderedScatteredSum(CudaDevice &device, NcclGroup &group,
                         const entry::StartReduceScatter &entry) {
  Sum sum = Sum::of(entry.shard, entry.accumulator);
  int64_t bytes = sum.count * int64_t(elementSize(entry.flat.dtype));
  if (group.size > 1)
    requireWorkspace(entry.workspace, bytes * group.size);
  return [&device, &group, combiner = Combiner(device, entry.flat.dtype), sum,
          bytes, flat = addressOf(entry.flat),
          arrivals = addressOf(entry.workspace)] {
    const CommStream &in = group.reductions;
    CUdeviceptr slices = flat;
    if (bytes > 0 && group.size > 1) {
      const Nccl &nccl = device.context.libraries.nccl();
      slices = arrivals;
      nccl.check(nccl.ncclAlltoAll(pointer(flat), pointer(slices),
                                   size_t(bytes), ncclUint8, in.comm,
                                   in.stream),
                 "ncclAlltoAll", in.comm);
    }
    if (bytes > 0)
      combiner.enqueue(in.stream, sum, slices, sum.count, group.size,
                       /*isLargest=*/false);
  };
}

Task orderedSum(CudaDevice &device, NcclGroup &group, const SummedValue &value,
                const Tensor &workspace) {
  return [reduced = AllReduced(device, group, value, workspace)] {
    reduced.enqueue();
  };
}

} // namespace shardc::runtime::cuda

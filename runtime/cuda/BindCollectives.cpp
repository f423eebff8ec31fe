// Collectives, each in a stream of its group.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/Bind.h"
#include "runtime/cuda/NcclGroups.h"
#include "runtime/cuda/Reductions.h"

#include <vector>

namespace shardc::runtime::cuda {
namespace {

int64_t bytesOf(const Tensor &tensor) {
  return tensor.elements() * int64_t(elementSize(tensor.dtype));
}

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

} // namespace

Task bind(CudaDevice &device, const entry::StartAllGather &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  int64_t bytes = bytesOf(entry.shard);
  return [&device, &group, bytes, id = entry.id, shard = addressOf(entry.shard),
          gathered = addressOf(entry.gathered)] {
    NcclGroups &groups = *device.groups;
    const CommStream &in = group.gathers;
    groups.begin(in);
    if (bytes > 0 && group.size == 1 && shard != gathered)
      device.context.driver.cuMemcpyDtoDAsync(gathered, shard, size_t(bytes),
                                              in.stream);
    if (bytes > 0 && group.size > 1) {
      const Nccl &nccl = device.context.libraries.nccl();
      nccl.check(nccl.ncclAllGather(pointer(shard), pointer(gathered),
                                    size_t(bytes), ncclUint8, in.comm,
                                    in.stream),
                 "ncclAllGather", in.comm);
    }
    groups.end(in, id);
  };
}

Task bind(CudaDevice &device, const entry::StartReduceScatter &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  return [&device, &group, id = entry.id,
          sum = device.reduce == Reduce::Nccl && group.size > 1
                    ? scatteredSumByNccl(device, group, entry)
                    : orderedScatteredSum(device, group, entry)] {
    device.groups->begin(group.reductions);
    sum();
    device.groups->end(group.reductions, id);
  };
}

Task bind(CudaDevice &device, const entry::StartAllReduce &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  std::vector<Task> sums;
  for (size_t i = 0; i < entry.values.size(); ++i) {
    SummedValue value = {entry.values[i],
                         entry.accumulators.empty() ? Tensor()
                                                    : entry.accumulators[i],
                         entry.norms[i]};
    sums.push_back(device.reduce == Reduce::Nccl && group.size > 1
                       ? wholeSumByNccl(device, group, value)
                       : orderedSum(device, group, value, entry.workspace));
  }
  return [&device, &group, sums, id = entry.id] {
    device.groups->begin(group.reductions);
    for (const Task &sum : sums)
      sum();
    device.groups->end(group.reductions, id);
  };
}

Task bind(CudaDevice &, const entry::StartAllToAll &) {
  fail("optimizers of whole matrices (muon) run on the CPU alone");
}

/// A gather of a word from each rank.
Task bind(CudaDevice &device, const entry::StartBarrier &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  CUdeviceptr words = device.allocateSmall(4 * (group.size + 1));
  return [&device, &group, words, id = entry.id] {
    const CommStream &in = group.reductions;
    device.groups->begin(in);
    if (group.size > 1) {
      const Nccl &nccl = device.context.libraries.nccl();
      nccl.check(nccl.ncclAllGather(pointer(words), pointer(words + 4), 4,
                                    ncclUint8, in.comm, in.stream),
                 "ncclAllGather", in.comm);
    }
    device.groups->end(in, id);
  };
}

Task bind(CudaDevice &device, const entry::Wait &entry) {
  return [&device, id = entry.id] {
    if (!device.groups->isKnown(id))
      fail("collective ", id, " is waited for before its start");
    device.groups->await(id);
  };
}

Task bind(CudaDevice &, const entry::StartTransfer &) {
  fail("transfers to a pool host run on the CPU alone; compile the model "
       "without --offload");
}
Task bind(CudaDevice &, const entry::AwaitTransfer &) {
  fail("transfers to a pool host run on the CPU alone; compile the model "
       "without --offload");
}

/// What NCCL has ended no other rank reads any more.
Task bind(CudaDevice &, const entry::Finish &) {
  return [] {};
}

} // namespace shardc::runtime::cuda

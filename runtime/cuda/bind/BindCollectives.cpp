// Collectives, each in a stream of its group, and transfers in theirs.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/collectives/NcclGroups.h"
#include "runtime/cuda/collectives/Reductions.h"
#include "runtime/device/Parcels.h"

#include <vector>

namespace shardc::runtime::cuda {
namespace {

int64_t bytesOf(const Tensor &tensor) {
  return tensor.elements() * int64_t(elementSize(tensor.dtype));
}

CUdeviceptr parcelAddress(const Parcel &parcel) {
  return reinterpret_cast<CUdeviceptr>(parcel.data);
}

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

/// What goes to a rank comes there in the order in which it was sent, as by the
/// communicator's all-to-all.
Task bind(CudaDevice &device, const entry::StartAllToAll &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  auto sends = parcelsOf(entry.sources, entry.sends);
  auto receives = parcelsOf(entry.destinations, entry.receives);
  if (group.size == 1)
    return [&device, &group, sends, receives, id = entry.id] {
      const CommStream &in = group.reductions;
      device.groups->begin(in);
      for (size_t i = 0; i < sends.size(); ++i)
        device.context.driver.cuMemcpyDtoDAsync(
            parcelAddress(receives[i]), parcelAddress(sends[i]),
            size_t(sends[i].bytes), in.stream);
      device.groups->end(in, id);
    };
  // All ranks take part, also with nothing.
  if (sends.empty() && receives.empty()) {
    auto *word = static_cast<std::byte *>(pointer(device.allocateSmall(4)));
    sends.push_back({group.rank, word, 0});
    receives.push_back({group.rank, word, 0});
  }
  return [&device, &group, sends, receives, id = entry.id] {
    const Nccl &nccl = device.context.libraries.nccl();
    const CommStream &in = group.reductions;
    device.groups->begin(in);
    nccl.check(nccl.ncclGroupStart(), "ncclGroupStart", in.comm);
    for (const Parcel &parcel : sends)
      nccl.check(nccl.ncclSend(parcel.data, size_t(parcel.bytes), ncclUint8,
                               parcel.peer, in.comm, in.stream),
                 "ncclSend", in.comm);
    for (const Parcel &parcel : receives)
      nccl.check(nccl.ncclRecv(parcel.data, size_t(parcel.bytes), ncclUint8,
                               parcel.peer, in.comm, in.stream),
                 "ncclRecv", in.comm);
    nccl.check(nccl.ncclGroupEnd(), "ncclGroupEnd", in.comm);
    device.groups->end(in, id);
  };
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

Task bind(CudaDevice &device, const entry::StartTransfer &entry) {
  device.transfers.know(entry.id);
  return [&device, id = entry.id, from = entry.source.data,
          to = entry.destination.data, bytes = bytesOf(entry.source)] {
    device.transfers.start(id, from, to, bytes);
  };
}

Task bind(CudaDevice &device, const entry::AwaitTransfer &entry) {
  return [&device, id = entry.id] {
    if (!device.transfers.isKnown(id))
      fail("transfer ", id, " is waited for before its start");
    device.transfers.await(id);
  };
}

/// What NCCL has ended no other rank reads any more.
Task bind(CudaDevice &, const entry::Finish &) {
  return [] {};
}

} // namespace shardc::runtime::cuda

// Collectives, each in a stream of its group: NCCL moves what ranks bring, and
// sums are added here in the order of the ranks, so that bits are those of the
// processor on every mesh.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/Bind.h"
#include "runtime/cuda/NcclGroups.h"
#include "runtime/cuda/kernels/SumsParameters.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

int64_t bytesOf(const Tensor &tensor) {
  return tensor.elements() * int64_t(elementSize(tensor.dtype));
}

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// What ranks bring of a vector, and what becomes of it.
struct Sum {
  CUdeviceptr result = 0, running = 0; // running: 0 of none
  int64_t count = 0;
  plan::DType dtype = plan::INVALID;
};

/// Adds up, or takes the largest of, slices that lie `stride` elements apart.
class Combiner {
public:
  Combiner(CudaDevice &device, plan::DType dtype)
      : device(device),
        sum(device.ownKernel("Sums", concat("ordered_sum_", suffixOf(dtype)))),
        largest(device.ownKernel("Sums",
                                 concat("ordered_max_", suffixOf(dtype)))) {}

  void enqueue(CUstream stream, const Sum &of, CUdeviceptr slices,
               int64_t stride, int ranks, bool isLargest) const {
    OrderedSumParameters parameters = {};
    parameters.slices = slices;
    parameters.result = of.result;
    parameters.running = of.running;
    parameters.count = of.count;
    parameters.stride = stride;
    parameters.ranks = ranks;
    const StepNumbers &numbers = device.numbers;
    parameters.begins = !of.running || numbers.microBatch == 0;
    parameters.ends = !of.running || numbers.endsStep();
    void *each[] = {&parameters};
    device.launchIn(stream, isLargest ? largest : sum, gridFor(of.count), each);
  }

private:
  CudaDevice &device;
  CUfunction sum, largest;
};

CUdeviceptr runningOf(const Tensor &accumulator) {
  return accumulator ? addressOf(accumulator) : 0;
}

/// The most that an all-reduce holds of what all ranks bring at once.
constexpr int64_t mostArrivals = int64_t(64) << 20;

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
  int64_t count = entry.shard.elements(),
          bytes = count * int64_t(elementSize(entry.flat.dtype));
  if (group.size > 1)
    device.groups->reserve(group, bytes * group.size);
  Combiner combiner(device, entry.flat.dtype);
  Sum sum = {addressOf(entry.shard), runningOf(entry.accumulator), count,
             entry.flat.dtype};
  return [&device, &group, combiner, sum, bytes, id = entry.id,
          flat = addressOf(entry.flat)] {
    NcclGroups &groups = *device.groups;
    const CommStream &in = group.reductions;
    groups.begin(in);
    CUdeviceptr slices = flat;
    if (bytes > 0 && group.size > 1) {
      const Nccl &nccl = device.context.libraries.nccl();
      slices = group.arrivals;
      nccl.check(nccl.ncclAlltoAll(pointer(flat), pointer(slices),
                                   size_t(bytes), ncclUint8, in.comm,
                                   in.stream),
                 "ncclAlltoAll", in.comm);
    }
    if (bytes > 0)
      combiner.enqueue(in.stream, sum, slices, sum.count, group.size,
                       /*isLargest=*/false);
    groups.end(in, id);
  };
}

namespace {

/// A value of an all-reduce: part by part, all ranks' parts arrive, and every
/// rank adds them up.
class AllReduced {
public:
  AllReduced(CudaDevice &device, NcclGroup &group, const Tensor &value,
             const Tensor &accumulator, bool isNorm)
      : device(device), group(group), combiner(device, value.dtype),
        whole{addressOf(value), runningOf(accumulator), value.elements(),
              value.dtype},
        isNorm(isNorm), size(int64_t(elementSize(value.dtype))),
        sumSize(int64_t(elementSize(Communicator::sumType(value.dtype)))),
        most(std::min(whole.count,
                      std::max<int64_t>(1, mostArrivals / group.size / size))) {
    if (group.size > 1)
      device.groups->reserve(group, most * size * group.size);
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
        slices = group.arrivals;
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
  int64_t most; // elements of a part
};

} // namespace

Task bind(CudaDevice &device, const entry::StartAllReduce &entry) {
  NcclGroup &group = device.groups->of(*entry.group);
  device.groups->know(entry.id);
  std::vector<AllReduced> values;
  for (size_t i = 0; i < entry.values.size(); ++i)
    values.emplace_back(device, group, entry.values[i],
                        entry.accumulators.empty() ? Tensor()
                                                   : entry.accumulators[i],
                        entry.norms[i]);
  return [&device, &group, values, id = entry.id] {
    device.groups->begin(group.reductions);
    for (const AllReduced &value : values)
      value.enqueue();
    device.groups->end(group.reductions, id);
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

/// What NCCL has ended no other rank reads any more.
Task bind(CudaDevice &, const entry::Finish &) {
  return [] {};
}

} // namespace shardc::runtime::cuda

// Sums that NCCL forms itself.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/collectives/Combiner.h"
#include "runtime/cuda/collectives/Reductions.h"

namespace shardc::runtime::cuda {
namespace {

ncclDataType_t ncclTypeOf(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
    return ncclFloat64;
  case plan::FLOAT32:
    return ncclFloat32;
  case plan::BFLOAT16:
    return ncclBfloat16;
  case plan::FLOAT16:
    return ncclFloat16;
  case plan::INT64:
    return ncclInt64;
  case plan::INT32:
    return ncclInt32;
  default:
    fail("NCCL has no sums of ", plan::DType_Name(dtype));
  }
}

/// What earlier micro-batches added up comes to the sum over ranks, in place.
void addRunning(const Combiner &combiner, const CommStream &in,
                const Sum &sum) {
  if (sum.running)
    combiner.enqueue(in.stream, sum, sum.result, sum.count, /*ranks=*/1,
                     /*isLargest=*/false);
}

} // namespace

Task scatteredSumByNccl(CudaDevice &device, NcclGroup &group,
                        const entry::StartReduceScatter &entry) {
  Sum sum = Sum::of(entry.shard, entry.accumulator);
  return [&device, &group, combiner = Combiner(device, sum.dtype), sum,
          type = ncclTypeOf(sum.dtype), flat = addressOf(entry.flat)] {
    const CommStream &in = group.reductions;
    if (sum.count == 0)
      return;
    const Nccl &nccl = device.context.libraries.nccl();
    nccl.check(nccl.ncclReduceScatter(pointer(flat), pointer(sum.result),
                                      size_t(sum.count), type, ncclSum, in.comm,
                                      in.stream),
               "ncclReduceScatter", in.comm);
    addRunning(combiner, in, sum);
  };
}

Task wholeSumByNccl(CudaDevice &device, NcclGroup &group,
                    const SummedValue &value) {
  Sum sum = Sum::of(value.value, value.accumulator);
  return [&device, &group, combiner = Combiner(device, sum.dtype), sum,
          type = ncclTypeOf(sum.dtype), isNorm = value.isNorm] {
    const CommStream &in = group.reductions;
    if (sum.count == 0)
      return;
    bool isLargest = isNorm && device.numbers.clipNorm == Norm::Inf;
    const Nccl &nccl = device.context.libraries.nccl();
    nccl.check(nccl.ncclAllReduce(
                   pointer(sum.result), pointer(sum.result), size_t(sum.count),
                   type, isLargest ? ncclMax : ncclSum, in.comm, in.stream),
               "ncclAllReduce", in.comm);
    addRunning(combiner, in, sum);
  };
}

} // namespace shardc::runtime::cuda

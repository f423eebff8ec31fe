// Sums of what the ranks of a group bring, in the group's stream of reductions.
#ifndef SHARDC_RUNTIME_CUDA_COLLECTIVES_REDUCTIONS_H
#define SHARDC_RUNTIME_CUDA_COLLECTIVES_REDUCTIONS_H

#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/collectives/NcclGroups.h"

namespace shardc::runtime::cuda {

/// A value of an all-reduce.
struct SummedValue {
  Tensor value, accumulator;
  bool isNorm = false;
};

// Each returns what enqueues one. Ordered: NCCL moves what ranks bring to the
// workspace, and it is added up here in the order of the ranks, so that bits are
// those of the processor on every mesh.

Task orderedScatteredSum(CudaDevice &device, NcclGroup &group,
                         const entry::StartReduceScatter &entry);
Task orderedSum(CudaDevice &device, NcclGroup &group, const SummedValue &value,
                const Tensor &workspace);

// NCCL adds, in an order and with roundings that its algorithm has. The group
// has other ranks.

Task scatteredSumByNccl(CudaDevice &device, NcclGroup &group,
                        const entry::StartReduceScatter &entry);
Task wholeSumByNccl(CudaDevice &device, NcclGroup &group,
                    const SummedValue &value);

} // namespace shardc::runtime::cuda

#endif

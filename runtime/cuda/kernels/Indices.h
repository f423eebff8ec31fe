// Indices as kernels read them.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_INDICES_H
#define SHARDC_RUNTIME_CUDA_KERNELS_INDICES_H

#include "runtime/cuda/kernels/BlockSums.h"
#include "runtime/cuda/kernels/IndexingParameters.h"

namespace shardc::runtime::cuda {

SHARDC_DEVICE Count indexAt(const Indices &of, unsigned position) {
  Count at = position;
  if (of.rank) {
    at = 0;
    for (int dim = int(of.rank) - 1; dim >= 0; --dim) {
      unsigned outer = quotient(position, of.dims[dim].size);
      at += (position - outer * of.dims[dim].size.number) * of.dims[dim].stride;
      position = outer;
    }
  }
  return of.isWide ? reinterpret_cast<const Count *>(of.data)[at]
                   : reinterpret_cast<const int *>(of.data)[at];
}

/// The same, of an axis of `size`; below 0: there was none in it, and this is
/// noted.
SHARDC_DEVICE Count checkedIndex(const Indices &of, unsigned position,
                                 Count size, bool wraps) {
  Count given = indexAt(of, position), index = given;
  if (wraps && index < 0)
    index += size;
  if (index >= 0 && index < size)
    return index;
  atomicMin(reinterpret_cast<unsigned long long *>(of.fault),
            faultOf(position, given));
  return -1;
}

} // namespace shardc::runtime::cuda

#endif

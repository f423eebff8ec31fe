// Indices as kernels read them.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_INDICES_H
#define SHARDC_RUNTIME_CUDA_KERNELS_INDICES_H

#include "runtime/cuda/kernels/Blocks.h"
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

/// The same, of an axis of `size`.
SHARDC_DEVICE Count checkedIndex(const Indices &of, unsigned position,
                                 Count size, bool wraps) {
  Count index = indexAt(of, position);
  if (wraps && index < 0)
    index += size;
  if (index < 0 || index >= size)
    stop();
  return index;
}

} // namespace shardc::runtime::cuda

#endif

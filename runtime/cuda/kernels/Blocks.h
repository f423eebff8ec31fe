// What threads of a block do together, for kernels that run in blocks of
// blockThreads; on the host a block has one thread, and hostThread counts blocks.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_BLOCKS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_BLOCKS_H

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Divisor.h"

namespace shardc::runtime::cuda {

#ifdef __CUDA__
#define SHARDC_SHARED static __attribute__((shared))
inline constexpr unsigned blockThreads = copyThreads;
SHARDC_DEVICE unsigned threadOfBlock() { return __nvvm_read_ptx_sreg_tid_x(); }
SHARDC_DEVICE unsigned blockOfGrid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
SHARDC_DEVICE unsigned blocksOfGrid() {
  return __nvvm_read_ptx_sreg_nctaid_x();
}
SHARDC_DEVICE void barrier() { __syncthreads(); }
#else
#define SHARDC_SHARED static thread_local
inline constexpr unsigned blockThreads = 1;
inline unsigned threadOfBlock() { return 0; }
inline unsigned blockOfGrid() { return unsigned(hostThread.index); }
inline unsigned blocksOfGrid() { return unsigned(hostThread.count); }
inline void barrier() {}
#endif

SHARDC_DEVICE unsigned quotient(unsigned index, const Divisor &by) {
  auto high =
      Word32((static_cast<unsigned long long>(index) * by.multiplier) >> 32);
  return (high + index) >> by.shift;
}

/// What is moved as a whole.
typedef Word32 Vector __attribute__((vector_size(16)));

} // namespace shardc::runtime::cuda

#endif

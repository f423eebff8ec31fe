// Which attention cuDNN is asked for: the plan's workspace and the device agree
// by this.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNSHAPES_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNSHAPES_H

#include <cstdint>

namespace shardc::runtime::cuda {

/// cuDNN has engines for heads of so many dims, of elements of 16 bits.
constexpr bool isCudnnDim(int64_t dim) { return dim % 8 == 0 && dim <= 256; }

/// Its gradient is taken for multiples of 128 queries and keys: up to 9.26 it
/// gives NaNs for the rest of a tile, where log_sum_exp is below -88
/// (pytorch#196678, cudnn-frontend#1072).
constexpr bool isCudnnGradLength(int64_t queries, int64_t keys) {
  return queries % 128 == 0 && keys % 128 == 0;
}

} // namespace shardc::runtime::cuda

#endif

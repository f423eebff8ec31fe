// What the kernels of TopK.cu take. Host and device read this header.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_TOPKPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_TOPKPARAMETERS_H

#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

/// The most elements of a row that rank_TYPE takes.
inline constexpr int mostRanked = 2048;

/// rank_TYPE and select_TYPE of f64, f32, bf16, f16, i64, i32, i8 and u8: the
/// `kept` first elements of each row and their places (int64), all contiguous:
/// the largest first, or the smallest; equal ones, as 0 and -0 are, in their
/// order; what is no number as the largest. Blocks of copyThreads, as many as
/// there are. rank counts how many elements come before each, `rowsPerBlock`
/// rows at a time, which have at most mostRanked elements; select looks for one
/// after the other, in rows of any size.
struct TopKParameters {
  Address input, values, places;
  Count rows;
  unsigned size, kept;
  unsigned rowsPerBlock, smallest;
};

} // namespace shardc::runtime::cuda

#endif

// Blocks of matrices are packed for the micro-kernels of MicroKernels.h, and
// converted on the way. This is for processors with AVX2 (x86-64-v3) or more:
// those kernels run nowhere else. Strides are in elements from row to row.
#ifndef SHARDC_RUNTIME_SIMD_PACK_H
#define SHARDC_RUNTIME_SIMD_PACK_H

#include "runtime/simd/Half.h"

#include <cstdint>

namespace shardc::runtime::simd {

/// From elements of type S: float, BFloat16 or Float16.
template <typename S> struct PackLoops {
  /// to[r, c] = from[r, c] in float32. Panels of `panel` columns of the result
  /// lie panelStride apart: it is a matrix if that is `panel`.
  void (*copy)(float *to, int64_t toStride, int64_t panelStride, const S *from,
               int64_t fromStride, int64_t rows, int64_t columns);
  /// to[c, r] = from[r, c] in float32.
  void (*transpose)(float *to, int64_t toStride, const S *from,
                    int64_t fromStride, int64_t rows, int64_t columns);
  int64_t panel; // four registers
};

/// The operands of a bfloat16 product, whose depth is taken in pairs. An odd
/// depth is filled up with a zero. "Pairs" [depth / 2, columns, 2] is what the
/// kernels want of the right operand; toStride counts pairs there.
struct PackPairLoops {
  /// Rows along the depth: to[r, c] = from[r, c].
  void (*copyDepth)(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                    int64_t fromStride, int64_t rows, int64_t depth);
  /// to[c, r] = from[r, c], from [depth, columns].
  void (*transposeDepth)(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                         int64_t fromStride, int64_t depth, int64_t columns);
  /// to[r / 2, c, r % 2] = from[r, c], from [depth, columns].
  void (*copyPairs)(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                    int64_t fromStride, int64_t depth, int64_t columns);
  /// to[c / 2, r, c % 2] = from[r, c], from [columns, depth].
  void (*transposePairs)(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                         int64_t fromStride, int64_t columns, int64_t depth);
};

/// The loops for this machine's processor, which has AVX2 or more.
template <typename S> const PackLoops<S> &packLoops();
/// It has AVX-512.
const PackPairLoops &packPairLoops();

} // namespace shardc::runtime::simd

#endif

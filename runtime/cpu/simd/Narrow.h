// Loops over elements of 16 bits. bfloat16 and float16 are what memory and
// wires hold; numbers are computed in float32 and rounded to nearest even where
// they are stored. One source (NarrowKernels.cpp) for several instruction sets,
// with the same bits on all.
#ifndef SHARDC_RUNTIME_CPU_SIMD_NARROW_H
#define SHARDC_RUNTIME_CPU_SIMD_NARROW_H

#include <cstdint>

namespace shardc::runtime::cpu {

struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

/// Maximum of a row, and the sum of exp(element - maximum).
struct NarrowRowSum {
  float maximum; // 0 where every element is -inf, so that it can be subtracted
  double sum;
};

/// S: BFloat16 or Float16.
template <typename S> struct NarrowSimd {
  void (*widen)(const S *from, float *to, int64_t count);
  /// A NaN stays one.
  void (*narrow)(const float *from, S *to, int64_t count);
  /// In the order of Simd<float>::logSumExp.
  NarrowRowSum (*rowSum)(const S *logits, int64_t count);
  /// gradient[i] = exp(logits[i] - maximum) * factor / sum, less `factor` at
  /// `label`; each rounded once. `gradient` may be `logits`.
  void (*crossEntropyGradient)(const S *logits, S *gradient, NarrowRowSum row,
                               float factor, int64_t label, int64_t count);
};

/// The loops for this machine's processor.
template <typename S> const NarrowSimd<S> &narrowSimd();

} // namespace shardc::runtime::cpu

#endif

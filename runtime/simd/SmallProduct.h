// Matrix products so small that calling a library takes longer than they do: an
// attention over one position, or over a few of them.
#ifndef SHARDC_RUNTIME_SIMD_SMALLPRODUCT_H
#define SHARDC_RUNTIME_SIMD_SMALLPRODUCT_H

#include <cstdint>

namespace shardc::runtime::simd {

/// c = alpha * op(a) op(b) (+ c) as cpu/Gemm.h has it: row-major, op(a) is [m,
/// k], op(b) [k, n]; strides are elements from row to row as stored.
template <typename T> struct SmallProduct {
  int64_t m, n, k;
  const T *a;
  int64_t strideA;
  bool transposeA;
  const T *b;
  int64_t strideB;
  bool transposeB;
  T *c;
  int64_t strideC;
  T alpha;
  bool accumulate;

  /// Whether it is quicker than a library, which needs about as long to begin;
  /// both transposed are left to that.
  bool isSmall() const {
    constexpr int64_t mostWork = 2048;
    return m * n * k <= mostWork && !(transposeA && transposeB);
  }
};

template <typename T> struct SmallProductLoops {
  /// Sums are formed along k: of a transposed b in lanes, which are added as
  /// one tree, else element by element.
  void (*multiply)(const SmallProduct<T> &product);
};
/// The loops for this machine's processor. T: float, double.
template <typename T> const SmallProductLoops<T> &smallProductLoops();

} // namespace shardc::runtime::simd

#endif

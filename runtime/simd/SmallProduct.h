// Matrix products so small that calling a library takes longer than they do: an
// attention over one position, or over a few of them.
#ifndef SHARDC_RUNTIME_SIMD_SMALLPRODUCT_H
#define SHARDC_RUNTIME_SIMD_SMALLPRODUCT_H

#include <cstdint>

namespace shardc::runtime::simd {

/// c [m, n] = alpha * a op(b) (+ c). a's element [row, i] lies at row * rowA + i
/// * columnA; b [k, n], or stored as [n, k], and c are row-major.
template <typename T> struct SmallProduct {
  int64_t m, n, k;
  const T *a;
  int64_t rowA, columnA; // columnA is 1 where b is transposed
  const T *b;
  int64_t strideB;
  bool transposeB;
  T *c;
  int64_t strideC;
  T alpha;
  bool accumulate;
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

// Compiled once per level, as Kernels.cpp is.
#include "runtime/simd/SmallProduct.h"

#include "runtime/simd/Vector.h"

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {
namespace {

/// Rows of b are read as vectors.
template <typename T> void multiplyRows(const SmallProduct<T> &p) {
  for (int64_t row = 0; row < p.m; ++row) {
    const T *a = p.a + row * p.rowA;
    T *c = p.c + row * p.strideC;
    forLanes<T>(p.n, [&](int64_t i, int64_t n) {
      Vector<T> sum = {};
      for (int64_t k = 0; k < p.k; ++k)
        sum = multiplyAdd<T>(broadcast(a[k * p.columnA]),
                             loadUpTo(p.b + k * p.strideB + i, n), sum);
      sum *= p.alpha;
      if (p.accumulate)
        sum += loadUpTo(c + i, n);
      storeUpTo(c + i, sum, n);
    });
  }
}

/// Elements are products of a row of a with a row of the stored b.
template <typename T> void multiplyDots(const SmallProduct<T> &p) {
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t column = 0; column < p.n; ++column) {
      const T *a = p.a + row * p.rowA, *b = p.b + column * p.strideB;
      Vector<T> sums = {};
      forLanes<T>(p.k, [&](int64_t i, int64_t n) {
        sums = multiplyAdd<T>(loadUpTo(a + i, n), loadUpTo(b + i, n), sums);
      });
      T sum = p.alpha * sumOfLanes<Vector<T>, T, lanes<T>>(sums);
      T &c = p.c[row * p.strideC + column];
      c = p.accumulate ? c + sum : sum;
    }
}

template <typename T> void multiply(const SmallProduct<T> &p) {
  if (p.transposeB)
    multiplyDots(p);
  else
    multiplyRows(p);
}

} // namespace

extern const SmallProductLoops<float> smallFloatTable;
extern const SmallProductLoops<double> smallDoubleTable;
const SmallProductLoops<float> smallFloatTable = {multiply<float>};
const SmallProductLoops<double> smallDoubleTable = {multiply<double>};

} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL

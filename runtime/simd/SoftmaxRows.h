// Rows of attention's scores and of capped logits: what Simd.h says of them.
// Include from Kernels.cpp only: its flags differ from the rest.
#ifndef SHARDC_RUNTIME_SIMD_SOFTMAXROWS_H
#define SHARDC_RUNTIME_SIMD_SOFTMAXROWS_H

#include "runtime/simd/Simd.h"
#include "runtime/simd/Vector.h"

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {
namespace {

template <typename T> constexpr T infinity = T(__builtin_inf());

/// Lanes of a row of scores with bias and mask applied; lanes past the end are
/// -inf.
template <typename T>
SHARDC_INLINE Vector<T> maskedScores(const T *scores, const T *bias,
                                     const uint8_t *mask, int64_t i,
                                     int64_t n) {
  Vector<T> x = loadUpTo(scores + i, n, -infinity<T>);
  if (bias)
    x += loadUpTo(bias + i, n);
  if (mask) {
    Bits<T> keep = {};
    for (int64_t lane = 0; lane < n; ++lane)
      keep[lane] = mask[i + lane];
    x = keep != 0 ? x : broadcast(-infinity<T>);
  }
  return x;
}

template <typename T>
RowSum<T> softmaxRow(T *scores, const T *bias, const uint8_t *mask, T floor,
                     int64_t count) {
  Vector<T> largest = broadcast(floor);
  if (bias || mask)
    forLanes<T>(count, [&](int64_t i, int64_t n) {
      Vector<T> x = maskedScores(scores, bias, mask, i, n);
      storeUpTo(scores + i, x, n);
      largest = larger<T>(x, largest);
    });
  else
    forLanes<T>(count, [&](int64_t i, int64_t n) {
      largest = larger<T>(loadUpTo(scores + i, n, -infinity<T>), largest);
    });
  T maximum = largestLane<T>(largest);
  // Where nothing is above -inf, exp(-inf - 0) gives zeros, and lets a NaN
  // through.
  T shift = maximum == -infinity<T> ? T(0) : maximum;
  Vector<T> total = {};
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> e = exponential(loadUpTo(scores + i, n, -infinity<T>) - shift);
    storeUpTo(scores + i, e, n);
    total += e;
  });
  return {maximum, sumOfLanes<Vector<T>, T, lanes<T>>(total)};
}

template <typename T>
void probabilityRow(T *scores, const T *bias, const uint8_t *mask, T logSumExp,
                    int64_t count) {
  T shift = logSumExp == -infinity<T> ? T(0) : logSumExp;
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> x = maskedScores(scores, bias, mask, i, n);
    storeUpTo(scores + i, exponential(x - shift), n);
  });
}

template <typename T>
void softmaxGradientRow(T *gradients, const T *probabilities, T delta, T scale,
                        const T *slopes, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    gradients[i] = probabilities[i] * (gradients[i] - delta) * scale;
  if (slopes)
    for (int64_t i = 0; i < count; ++i)
      gradients[i] *= slopes[i];
}

template <typename T>
void softcapRow(T *scores, T *slopes, T cap, int64_t count) {
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> bounded = hyperbolicTangent(loadUpTo(scores + i, n) / cap);
    storeUpTo(scores + i, bounded * cap, n);
    if (slopes)
      storeUpTo(slopes + i, T(1) - bounded * bounded, n);
  });
}

template <typename T>
void softcapGradientRow(T *logits, T cap, T shift, T factor, T uniform,
                        int64_t count) {
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> x = loadUpTo(logits + i, n), bounded = x / cap;
    storeUpTo(logits + i,
              (exponential(x - shift) * factor - uniform) *
                  (1 - bounded * bounded),
              n);
  });
}

} // namespace
} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL

#endif

// Conversion of rows of float32, bfloat16 or float16 elements to rows of
// float32, and back. "Half" (half precision) means both 16-bit floats.
#ifndef SHARDC_RUNTIME_CPU_HALFROWS_H
#define SHARDC_RUNTIME_CPU_HALFROWS_H

#include "runtime/base/DType.h"
#include "runtime/simd/Simd.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace shardc::runtime::cpu {

template <typename T>
constexpr bool isHalfType =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// What elements of a type are computed in.
template <typename S>
using ComputeOf = std::conditional_t<isHalfType<S>, float, S>;

/// Calls function with an element of the C++ type of float32 or of a 16-bit
/// float.
template <typename Function>
decltype(auto) withFloat32OrHalf(plan::DType dtype, Function &&function) {
  if (dtype == plan::BFLOAT16)
    return function(BFloat16());
  if (dtype == plan::FLOAT16)
    return function(Float16());
  return function(float());
}
/// Does the same, with float64 besides.
template <typename Function>
decltype(auto) withFloat(plan::DType dtype, Function &&function) {
  return dtype == plan::FLOAT64 ? function(double())
                                : withFloat32OrHalf(dtype, function);
}

/// Converts `count` elements exactly; equal types are copied.
template <typename S>
void widenRow(const S *from, ComputeOf<S> *to, int64_t count) {
  if constexpr (isHalfType<S>)
    simd::halfLoops<S>().widen(to, from, count);
  else
    std::memcpy(to, from, count * sizeof(S));
}
/// Rounds `count` elements to nearest even; equal types are copied.
template <typename S>
void roundRow(const ComputeOf<S> *from, S *to, int64_t count) {
  if constexpr (isHalfType<S>)
    simd::halfLoops<S>().round(to, from, count);
  else
    std::memcpy(to, from, count * sizeof(S));
}

/// Convert rows of `columns` elements, `fromStride` and `toStride` elements
/// apart.
template <typename S>
void widenRows(const S *from, int64_t fromStride, ComputeOf<S> *to,
               int64_t toStride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    widenRow(from + row * fromStride, to + row * toStride, columns);
}
template <typename S>
void roundRows(const ComputeOf<S> *from, int64_t fromStride, S *to,
               int64_t toStride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    roundRow(from + row * fromStride, to + row * toStride, columns);
}

/// Convert one element.
template <typename S> ComputeOf<S> widened(S value) {
  ComputeOf<S> result;
  widenRow(&value, &result, 1);
  return result;
}
template <typename S> S rounded(ComputeOf<S> value) {
  S result;
  roundRow(&value, &result, 1);
  return result;
}

} // namespace shardc::runtime::cpu

#endif

// Rows of float32, bfloat16 or float16 elements to rows of float32, and back.
#ifndef SHARDC_RUNTIME_CPU_NARROWROWS_H
#define SHARDC_RUNTIME_CPU_NARROWROWS_H

#include "runtime/plan.pb.h"
#include "runtime/simd/Simd.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace shardc::runtime::cpu {

inline bool isNarrow(plan::DType dtype) {
  return dtype == plan::BFLOAT16 || dtype == plan::FLOAT16;
}
template <typename T>
constexpr bool isNarrowType =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// What elements of a type are computed in.
template <typename S>
using ComputeOf = std::conditional_t<isNarrowType<S>, float, S>;

/// Calls function with an element of the C++ type of float32 or of a 16-bit
/// float.
template <typename Function>
decltype(auto) withNarrow(plan::DType dtype, Function &&function) {
  if (dtype == plan::BFLOAT16)
    return function(BFloat16());
  if (dtype == plan::FLOAT16)
    return function(Float16());
  return function(float());
}
/// The same with float64 besides.
template <typename Function>
decltype(auto) withFloat(plan::DType dtype, Function &&function) {
  return dtype == plan::FLOAT64 ? function(double())
                                : withNarrow(dtype, function);
}

/// `count` elements; equal types are copied.
template <typename S>
void widenRow(const S *from, ComputeOf<S> *to, int64_t count) {
  if constexpr (isNarrowType<S>)
    simd::halfLoops<S>().widen(to, from, count);
  else
    std::memcpy(to, from, count * sizeof(S));
}
template <typename S>
void narrowRow(const ComputeOf<S> *from, S *to, int64_t count) {
  if constexpr (isNarrowType<S>)
    simd::halfLoops<S>().round(to, from, count);
  else
    std::memcpy(to, from, count * sizeof(S));
}

/// Rows of `columns` elements, `fromStride` and `toStride` elements apart.
template <typename S>
void widenRows(const S *from, int64_t fromStride, ComputeOf<S> *to,
               int64_t toStride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    widenRow(from + row * fromStride, to + row * toStride, columns);
}
template <typename S>
void narrowRows(const ComputeOf<S> *from, int64_t fromStride, S *to,
                int64_t toStride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    narrowRow(from + row * fromStride, to + row * toStride, columns);
}

/// A scalar as a number.
template <typename S> ComputeOf<S> widened(S value) {
  ComputeOf<S> result;
  widenRow(&value, &result, 1);
  return result;
}
template <typename S> S narrowed(ComputeOf<S> value) {
  S result;
  narrowRow(&value, &result, 1);
  return result;
}

} // namespace shardc::runtime::cpu

#endif

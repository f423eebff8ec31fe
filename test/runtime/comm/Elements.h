// The C++ types of what collectives add up.
#ifndef SHARDC_TEST_RUNTIME_COMM_ELEMENTS_H
#define SHARDC_TEST_RUNTIME_COMM_ELEMENTS_H

#include "runtime/plan.pb.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace shardc::runtime {

/// bfloat16 by arithmetic: nothing of the runtime's. Normal numbers only.
struct Brain16 {
  uint16_t bits;
  Brain16() = default;
  explicit Brain16(float value) {
    if (value == value) {
      int exponent;
      float mantissa = std::frexp(value, &exponent); // 8 bits are kept
      value = std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
    }
    bits = uint16_t(std::bit_cast<uint32_t>(value) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// Calls function with a value of the C++ type of a type that collectives add
/// up.
template <typename Function>
void withElement(plan::DType dtype, Function function) {
  switch (dtype) {
  case plan::FLOAT32:
    return function(float());
  case plan::FLOAT64:
    return function(double());
  case plan::BFLOAT16:
    return function(Brain16());
  case plan::FLOAT16:
    return function(_Float16());
  case plan::INT64:
    return function(int64_t());
  default:
    return function(int32_t());
  }
}
constexpr plan::DType reducibleTypes[] = {plan::FLOAT32,  plan::FLOAT64,
                                          plan::BFLOAT16, plan::FLOAT16,
                                          plan::INT64,    plan::INT32};

/// What T is added in.
template <typename T>
using SumOf =
    std::conditional_t<std::is_integral_v<T> || sizeof(T) >= 4, T, float>;

} // namespace shardc::runtime

#endif

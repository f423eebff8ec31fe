// Conversion between element types (DType.h).
#include "runtime/base/DType.h"
#include "runtime/simd/Simd.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace shardc::runtime {

using plan::DType;

namespace {

/// To float for one more rounding: to odd, so that the two are one rounding to
/// nearest (Boldo and Melquiond, 2008: float has two bits to spare).
float roundToOdd(double value) {
  float result = static_cast<float>(value);
  double back = result;
  uint32_t word = std::bit_cast<uint32_t>(result);
  if (back == value || std::isnan(value) || (word & 1))
    return result;
  // Inexact and even: the neighbour on the value's side is the odd one.
  bool away = std::fabs(value) > std::fabs(back);
  return std::bit_cast<float>(away ? word + 1 : word - 1);
}

double widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
double widened(Float16 value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  uint32_t exponent = (value.bits >> 10) & 31, mantissa = value.bits & 1023;
  if (exponent == 0) {
    double magnitude = mantissa * 0x1p-24;
    return sign ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

void round(double value, BFloat16 &result) {
  uint32_t word = std::bit_cast<uint32_t>(roundToOdd(value));
  if ((word & 0x7fffffff) > 0x7f800000) // stay a NaN
    result.bits = static_cast<uint16_t>((word >> 16) | 0x40);
  else
    result.bits =
        static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}
uint16_t float16Bits(double value) {
  uint32_t word = std::bit_cast<uint32_t>(roundToOdd(value));
  uint16_t sign = (word >> 16) & 0x8000;
  word &= 0x7fffffff;
  if (word > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | ((word >> 13) & 0x3ff));
  if (word >= 0x477ff000) // rounds to 65536 or more
    return static_cast<uint16_t>(sign | 0x7c00);
  if (word < 0x38800000) { // subnormal: the sum rounds at 2^-24
    float shifted = std::bit_cast<float>(word) + 0.5f;
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t rounded = word + 0xfff + ((word >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}
void round(double value, Float16 &result) { result.bits = float16Bits(value); }

template <typename T>
constexpr bool isHalfElement =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <typename To, typename From> To convertOne(From value) {
  if constexpr (isHalfElement<From>) {
    return convertOne<To>(widened(value));
  } else if constexpr (isHalfElement<To>) {
    To result;
    round(static_cast<double>(value), result);
    return result;
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void convertLoop(const void *source, void *destination, size_t count) {
  auto *in = static_cast<const char *>(source);
  auto *out = static_cast<char *>(destination);
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof(From));
    To converted = convertOne<To>(value);
    std::memcpy(out + i * sizeof(To), &converted, sizeof(To));
  }
}

template <typename H>
bool convertHalves(const void *source, DType from, void *destination, DType to,
                   size_t count) {
  if (from == plan::FLOAT32)
    simd::halfLoops<H>().round(static_cast<H *>(destination),
                               static_cast<const float *>(source), count);
  else if (to == plan::FLOAT32)
    simd::halfLoops<H>().widen(static_cast<float *>(destination),
                               static_cast<const H *>(source), count);
  else
    return false;
  return true;
}
/// Between float32 and 16 bits, vectorized; false for other pairs, and
/// addresses that are no multiples of the elements' size.
bool convertVectorized(const void *source, DType from, void *destination,
                       DType to, size_t count) {
  if (reinterpret_cast<uintptr_t>(source) % elementSize(from) ||
      reinterpret_cast<uintptr_t>(destination) % elementSize(to))
    return false;
  if (from == plan::BFLOAT16 || to == plan::BFLOAT16)
    return convertHalves<BFloat16>(source, from, destination, to, count);
  if (from == plan::FLOAT16 || to == plan::FLOAT16)
    return convertHalves<Float16>(source, from, destination, to, count);
  return false;
}

/// Calls function with a value of the C++ type of a float dtype, or of an
/// integer one.
template <typename Function> void withFloat(DType dtype, Function function) {
  switch (dtype) {
  case plan::FLOAT32:
    return function(float());
  case plan::FLOAT64:
    return function(double());
  case plan::BFLOAT16:
    return function(BFloat16());
  default:
    return function(Float16());
  }
}
template <typename Function> void withInteger(DType dtype, Function function) {
  switch (dtype) {
  case plan::INT64:
    return function(int64_t());
  case plan::INT32:
    return function(int32_t());
  case plan::INT16:
    return function(int16_t());
  case plan::INT8:
    return function(int8_t());
  case plan::UINT64:
    return function(uint64_t());
  case plan::UINT32:
    return function(uint32_t());
  case plan::UINT16:
    return function(uint16_t());
  default:
    return function(uint8_t());
  }
}

} // namespace

void convertElements(const void *source, DType from, void *destination,
                     DType to, size_t count) {
  assert(isConvertible(from, to));
  if (from == to) {
    if (source != destination && count)
      std::memcpy(destination, source, count * elementSize(to));
    return;
  }
  if (convertVectorized(source, from, destination, to, count))
    return;
  auto convert = [&]<typename From, typename To>(From, To) {
    convertLoop<From, To>(source, destination, count);
  };
  if (isFloat(to))
    withFloat(from, [&](auto in) {
      withFloat(to, [&](auto out) { convert(in, out); });
    });
  else
    withInteger(from, [&](auto in) {
      withInteger(to, [&](auto out) { convert(in, out); });
    });
  // Any non-zero byte is true.
  if (to == plan::BOOL)
    for (size_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(destination)[i] =
          static_cast<uint8_t *>(destination)[i] != 0;
}

} // namespace shardc::runtime

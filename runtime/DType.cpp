// Element types: sizes, names, and conversion between them.
#include "runtime/DType.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace shardc::runtime {

using plan::DType;

namespace {

struct Names {
  DType dtype;
  size_t size;
  const char *numpy;
  const char *safetensors;
  int32_t onnx;
};
constexpr Names table[] = {
    {plan::FLOAT32, 4, "float32", "F32", 1},
    {plan::FLOAT64, 8, "float64", "F64", 11},
    {plan::BFLOAT16, 2, "bfloat16", "BF16", 16},
    {plan::FLOAT16, 2, "float16", "F16", 10},
    {plan::INT64, 8, "int64", "I64", 7},
    {plan::INT32, 4, "int32", "I32", 6},
    {plan::BOOL, 1, "bool", "BOOL", 9},
    {plan::UINT8, 1, "uint8", "U8", 2},
    {plan::INT8, 1, "int8", "I8", 3},
};

const Names *find(DType dtype) {
  for (const Names &names : table)
    if (names.dtype == dtype)
      return &names;
  return nullptr;
}

struct BFloat16 {
  uint16_t bits;
  operator double() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  static BFloat16 from(double value) {
    uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(value));
    if ((word & 0x7fffffff) > 0x7f800000)
      return {static_cast<uint16_t>((word >> 16) | 0x40)}; // stay a NaN
    return {static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16)};
  }
};

struct Float16 {
  uint16_t bits;
  operator double() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    if (exponent == 0) {
      double magnitude = mantissa * 0x1p-24;
      return sign ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 31 ? 255 : exponent + 112;
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
  }
  static Float16 from(double value) {
    uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(value));
    uint16_t sign = (word >> 16) & 0x8000;
    word &= 0x7fffffff;
    if (word > 0x7f800000)
      return {static_cast<uint16_t>(sign | 0x7e00)};
    if (word >= 0x477ff000) // rounds to 65536 or more
      return {static_cast<uint16_t>(sign | 0x7c00)};
    if (word < 0x38800000) { // subnormal: the sum rounds at 2^-24
      float shifted = std::bit_cast<float>(word) + 0.5f;
      return {static_cast<uint16_t>(
          sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000))};
    }
    uint32_t rounded = word + 0xfff + ((word >> 13) & 1);
    return {static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
  }
};

template <typename To, typename From> To convertOne(From value) {
  if constexpr (requires { To::from(0.0); })
    return To::from(static_cast<double>(value));
  else if constexpr (std::is_class_v<From>)
    return static_cast<To>(static_cast<double>(value));
  else
    return static_cast<To>(value);
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
  case plan::INT8:
    return function(int8_t());
  default:
    return function(uint8_t());
  }
}

} // namespace

size_t elementSize(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->size : 0;
}
const char *dtypeName(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->numpy : "invalid";
}
const char *safetensorsName(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->safetensors : "";
}
DType dtypeFromSafetensorsName(const std::string &name) {
  for (const Names &names : table)
    if (name == names.safetensors)
      return names.dtype;
  return plan::INVALID;
}
DType dtypeFromOnnx(int32_t onnx) {
  for (const Names &names : table)
    if (onnx == names.onnx)
      return names.dtype;
  return plan::INVALID;
}
int32_t onnxDtype(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->onnx : 0;
}

bool isFloat(DType dtype) {
  return dtype == plan::FLOAT32 || dtype == plan::FLOAT64 ||
         dtype == plan::BFLOAT16 || dtype == plan::FLOAT16;
}

bool isConvertible(DType from, DType to) {
  return find(from) && find(to) && isFloat(from) == isFloat(to);
}

void convertElements(const void *source, DType from, void *destination,
                     DType to, size_t count) {
  assert(isConvertible(from, to));
  if (from == to) {
    if (source != destination && count)
      std::memcpy(destination, source, count * elementSize(to));
    return;
  }
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

// Rounding by arithmetic, and bounds of it.
#include "test/runtime/device/Numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

namespace shardc::runtime {

namespace {

/// Of a float type: digits of the significand, and the exponents of the least
/// subnormal number and above the largest number.
struct Format {
  int digits, least, beyond;
};
Format formatOf(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
    return {53, -1074, 1024};
  case plan::FLOAT32:
    return {24, -149, 128};
  case plan::BFLOAT16:
    return {8, -133, 128};
  default:
    return {11, -24, 16};
  }
}
bool isFloatType(plan::DType dtype) {
  return std::find(std::begin(floatTypes), std::end(floatTypes), dtype) !=
         std::end(floatTypes);
}
template <typename T> void store(T element, std::byte *to) {
  std::memcpy(to, &element, sizeof(T));
}
template <typename T> T load(const std::byte *from) {
  T element;
  std::memcpy(&element, from, sizeof(T));
  return element;
}

} // namespace

int64_t sizeOf(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
  case plan::INT64:
    return 8;
  case plan::FLOAT32:
  case plan::INT32:
    return 4;
  case plan::BFLOAT16:
  case plan::FLOAT16:
    return 2;
  default:
    return 1;
  }
}

bool isNarrow(plan::DType dtype) {
  return dtype == plan::BFLOAT16 || dtype == plan::FLOAT16;
}
plan::DType sumType(plan::DType dtype) {
  return dtype == plan::FLOAT64 ? plan::FLOAT64 : plan::FLOAT32;
}
double roundoff(plan::DType dtype) {
  return std::ldexp(1, -formatOf(dtype).digits);
}
double sumRoundoff(plan::DType dtype) { return roundoff(sumType(dtype)); }

double rounded(double value, plan::DType dtype) {
  if (!isFloatType(dtype) || !std::isfinite(value) || value == 0)
    return value;
  Format format = formatOf(dtype);
  int exponent;
  std::frexp(value, &exponent);
  int last = std::max(exponent - format.digits, format.least);
  double result = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::fabs(result) >= std::ldexp(1, format.beyond - 1) * 2
             ? std::copysign(INFINITY, value)
             : result;
}

void encode(double value, plan::DType dtype, std::byte *to) {
  switch (dtype) {
  case plan::FLOAT64:
    return store(value, to);
  case plan::FLOAT32:
    return store(float(value), to);
  case plan::BFLOAT16:
    return store(
        uint16_t(std::bit_cast<uint32_t>(float(rounded(value, dtype))) >> 16),
        to);
  case plan::FLOAT16:
    return store(_Float16(value), to);
  case plan::INT64:
    return store(int64_t(value), to);
  case plan::INT32:
    return store(int32_t(value), to);
  case plan::INT8:
    return store(int8_t(value), to);
  default:
    return store(uint8_t(value), to);
  }
}

double decode(const std::byte *from, plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
    return load<double>(from);
  case plan::FLOAT32:
    return load<float>(from);
  case plan::BFLOAT16:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(from)) << 16);
  case plan::FLOAT16:
    return double(load<_Float16>(from));
  case plan::INT64:
    return double(load<int64_t>(from));
  case plan::INT32:
    return load<int32_t>(from);
  case plan::INT8:
    return load<int8_t>(from);
  default:
    return load<uint8_t>(from);
  }
}

int64_t countOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

void forIndices(
    const std::vector<int64_t> &shape,
    const std::function<void(const std::vector<int64_t> &, int64_t)> &visit) {
  std::vector<int64_t> index(shape.size());
  int64_t count = countOf(shape);
  for (int64_t position = 0; position < count; ++position) {
    visit(index, position);
    for (size_t dim = shape.size(); dim-- > 0 && ++index[dim] == shape[dim];)
      index[dim] = 0;
  }
}

Numbers::Numbers(plan::DType dtype, std::vector<int64_t> shape, double value)
    : dtype(dtype), shape(std::move(shape)),
      values(countOf(this->shape), rounded(value, dtype)) {}
Numbers::Numbers(plan::DType dtype, std::vector<int64_t> shape,
                 std::vector<double> given)
    : dtype(dtype), shape(std::move(shape)), values(std::move(given)) {
  for (double &value : values)
    value = rounded(value, dtype);
}

Numbers Numbers::random(plan::DType dtype, std::vector<int64_t> shape,
                        unsigned seed, double scale) {
  Numbers numbers(dtype, std::move(shape));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(-scale, scale);
  for (double &value : numbers.values)
    value = rounded(distribution(generator), dtype);
  return numbers;
}
Numbers Numbers::integers(plan::DType dtype, std::vector<int64_t> shape,
                          unsigned seed, int64_t least, int64_t most) {
  Numbers numbers(dtype, std::move(shape));
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int64_t> distribution(least, most);
  for (double &value : numbers.values)
    value = double(distribution(generator));
  return numbers;
}

double Numbers::at(std::initializer_list<int64_t> index) const {
  int64_t position = 0, dim = 0;
  for (int64_t i : index)
    position = position * shape[dim++] + i;
  return values[position];
}

/// Whether a number of `dtype` is `exact`, off by `slack` and then rounded.
static bool isRounded(double got, double exact, double slack,
                      plan::DType dtype) {
  if (std::isnan(exact))
    return std::isnan(got);
  if (slack < 0 || !std::isfinite(exact))
    return got == exact;
  Format format = formatOf(dtype);
  double most = std::fabs(exact) + slack;
  double half =
      std::max(most * roundoff(dtype), std::ldexp(1, format.least) / 2);
  if (std::isinf(got)) // where it overflows
    return most + half >= std::ldexp(1, format.beyond - 1) * 2 &&
           got * exact > 0;
  return std::fabs(got - exact) <= slack + half;
}

std::string mismatch(const std::vector<double> &got, const Expected &expected,
                     plan::DType dtype) {
  std::ostringstream text;
  text.precision(17);
  if (got.size() != expected.values.size()) {
    text << got.size() << " elements, expected " << expected.values.size();
    return text.str();
  }
  for (size_t i = 0; i < got.size(); ++i)
    if (!isRounded(got[i], expected.values[i], expected.slack[i], dtype)) {
      text << "element " << i << " of " << got.size() << " is " << got[i]
           << ", expected " << expected.values[i] << ", off by "
           << expected.slack[i] << " at most before it is rounded to "
           << plan::DType_Name(dtype);
      break;
    }
  return text.str();
}

} // namespace shardc::runtime

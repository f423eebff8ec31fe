// Exact sums as digits with room for carries.
#include "runtime/base/ExactSum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace shardc::runtime {

static constexpr int digitBits = 32;
static constexpr int64_t digitMask = (int64_t(1) << digitBits) - 1;
/// Digits have 31 bits for carries and the sign.
static constexpr int64_t mostAdded = int64_t(1) << 30;

// The last word of the stored form: fields of 20 bits.
static constexpr int negativeField = 20, nanField = 40;
static constexpr int64_t fieldMask = (int64_t(1) << 20) - 1;

ExactSum::ExactSum(std::span<const int64_t, words> stored) {
  for (int64_t i = 0; i < digitCount; ++i)
    digits[i] = stored[i];
  int64_t special = stored[digitCount];
  hasInfinity = special & fieldMask;
  hasNegativeInfinity = special >> negativeField & fieldMask;
  hasNan = special >> nanField;
  normalize();
}

void ExactSum::add(double value) {
  auto bits = std::bit_cast<uint64_t>(value);
  auto exponent = int(bits >> 52 & 0x7FF);
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  bool isNegative = bits >> 63;
  if (exponent == 0x7FF) {
    hasNan |= mantissa != 0;
    hasInfinity |= mantissa == 0 && !isNegative;
    hasNegativeInfinity |= mantissa == 0 && isNegative;
    return;
  }
  // Subnormal numbers have the exponent of the smallest normal ones.
  if (exponent > 0)
    mantissa |= uint64_t(1) << 52;
  int place = exponent > 0 ? exponent - 1 : 0;
  int64_t *digit = &digits[place / digitBits];
  int shift = place % digitBits;
  uint64_t low = mantissa << shift;
  uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
  int64_t parts[3] = {int64_t(low & digitMask), int64_t(low >> digitBits),
                      int64_t(high)};
  for (int i = 0; i < 3; ++i)
    digit[i] += isNegative ? -parts[i] : parts[i];
  if (++added == mostAdded)
    normalize();
}

void ExactSum::add(const ExactSum &other) {
  ExactSum normal = other;
  normal.normalize();
  for (int64_t i = 0; i < digitCount; ++i)
    digits[i] += normal.digits[i];
  hasInfinity |= other.hasInfinity;
  hasNegativeInfinity |= other.hasNegativeInfinity;
  hasNan |= other.hasNan;
  if (++added == mostAdded)
    normalize();
}

void ExactSum::normalize() {
  for (int64_t i = 0; i + 1 < digitCount; ++i) {
    digits[i + 1] += digits[i] >> digitBits; // rounds down: the rest is >= 0
    digits[i] &= digitMask;
  }
  added = 0;
}

void ExactSum::store(std::span<int64_t, words> to) const {
  ExactSum normal = *this;
  normal.normalize();
  for (int64_t i = 0; i < digitCount; ++i)
    to[i] = normal.digits[i];
  to[digitCount] = int64_t(hasInfinity) |
                   int64_t(hasNegativeInfinity) << negativeField |
                   int64_t(hasNan) << nanField;
}

double ExactSum::round() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (hasNan || (hasInfinity && hasNegativeInfinity))
    return std::numeric_limits<double>::quiet_NaN();
  if (hasInfinity || hasNegativeInfinity)
    return hasInfinity ? infinity : -infinity;
  ExactSum magnitude = *this;
  magnitude.normalize();
  bool isNegative = magnitude.digits.back() < 0;
  if (isNegative) {
    for (int64_t &digit : magnitude.digits)
      digit = -digit;
    magnitude.normalize();
  }
  int64_t top = digitCount - 1;
  while (top > 0 && magnitude.digits[top] == 0)
    --top;
  // Of the four highest digits the conversion rounds once, since a bit far
  // below the last place says whether anything follows.
  __extension__ using Wide = unsigned __int128;
  Wide head = 0;
  for (int64_t i = top; i > top - 4; --i)
    head = head << digitBits | Wide(i >= 0 ? magnitude.digits[i] : 0);
  for (int64_t i = 0; i < top - 3; ++i)
    if (magnitude.digits[i] != 0)
      head |= 1;
  double value = std::ldexp(double(head), int((top - 3) * digitBits) - 1074);
  return isNegative ? -value : value;
}

} // namespace shardc::runtime

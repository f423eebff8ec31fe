// What drops attention's probabilities: what Simd.h says of it. Include from
// Kernels.cpp only: its flags differ from the rest.
#ifndef SHARDC_RUNTIME_SIMD_DROPPEDROW_H
#define SHARDC_RUNTIME_SIMD_DROPPEDROW_H

#include "runtime/base/Threefry.h"
#include "runtime/simd/Simd.h"
#include "runtime/simd/Vector.h"

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {
namespace {

/// A word in each lane. The type has no name outside of this file, and so have
/// the functions that are instantiated with it.
struct WordLanes {
  Unsigned16x value;

  SHARDC_INLINE WordLanes of(uint32_t number) {
    return {Unsigned16x{} + number};
  }
  WordLanes operator+(WordLanes other) const { return {value + other.value}; }
  WordLanes operator^(WordLanes other) const { return {value ^ other.value}; }
  WordLanes rotated(unsigned bits) const {
    return {value << bits | value >> (32 - bits)};
  }
  WordLanes like(uint32_t number) const { return of(number); }
};

/// Two groups of keys are drawn at once, one in each half of the lanes.
template <typename T>
void droppedRow(T *factors, const DrawnRow &row, int64_t first, int64_t count) {
  constexpr int64_t keys = 2 * drawnKeys, stride = drawnStride;
  static_assert(2 * stride == lanes<float>);
  Unsigned16x places;
  for (int lane = 0; lane < lanes<float>; ++lane)
    places[lane] = lane;
  for (int64_t begin = 0; begin < count; begin += keys) {
    const auto draw = drawOfKey(static_cast<uint32_t>(first + begin));
    const TwoWords<WordLanes> words =
        threefry2x32(WordLanes::of(row.key0), WordLanes::of(row.key1),
                     WordLanes{places + draw}, WordLanes::of(row.sample));
    for (int part = 0; part < 4; ++part) {
      Unsigned16x word = part < 2 ? words.first.value : words.second.value;
      Int16x number = (Int16x)(part % 2 ? word : word << 16) >> 16;
      Int16x kept = number >= row.threshold + Int16x{};
      T *to = factors + begin + part * stride;
      T values[2 * stride];
      for (int lane = 0; lane < 2 * stride; ++lane)
        values[lane] = kept[lane] ? T(row.scale) : T(0);
      __builtin_memcpy(to, values, sizeof(T) * stride);
      __builtin_memcpy(to + drawnKeys, values + stride, sizeof(T) * stride);
    }
  }
}

template <typename T>
void multiply(T *values, const T *factors, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    values[i] *= factors[i];
}

} // namespace
} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL

#endif

// Sixteen elements of 16 bits as a vector of float32, and back. Include from
// NarrowKernels.cpp only: its flags differ from the rest.
#ifndef SHARDC_RUNTIME_CPU_SIMD_NARROWVECTOR_H
#define SHARDC_RUNTIME_CPU_SIMD_NARROWVECTOR_H

#include "runtime/cpu/simd/Narrow.h"
#include "runtime/cpu/simd/Vector.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace {

using shardc::runtime::cpu::BFloat16;
using shardc::runtime::cpu::Float16;

typedef uint16_t Short16x __attribute__((vector_size(32)));
typedef uint32_t Word16x __attribute__((vector_size(64)));

SHARDC_INLINE Float16x widened(Short16x bits, BFloat16) {
  return (Float16x)(__builtin_convertvector(bits, Word16x) << 16);
}
SHARDC_INLINE Short16x narrowed(Float16x value, BFloat16) {
  // Of the bits that go, half a unit less one and the bit that decides a tie:
  // the carry rounds. (vcvtneps2bf16 would flush subnormal numbers.)
  Word16x word = (Word16x)value, upper = word >> 16;
  Word16x rounded = (word + 0x7fff + (upper & 1)) >> 16;
  Word16x result = (Int16x)(value != value) != 0 ? upper | 0x40 : rounded;
  return __builtin_convertvector(result, Short16x);
}

#if defined(__AVX512F__)
SHARDC_INLINE Float16x widened(Short16x bits, Float16) {
  return (Float16x)_mm512_cvtph_ps((__m256i)bits);
}
SHARDC_INLINE Short16x narrowed(Float16x value, Float16) {
  return (Short16x)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT |
                                                      _MM_FROUND_NO_EXC);
}
#elif defined(__F16C__)
SHARDC_INLINE Float16x widened(Short16x bits, Float16) {
  __m128i halves[2];
  __m256 parts[2];
  __builtin_memcpy(halves, &bits, sizeof(bits));
  for (int i = 0; i < 2; ++i)
    parts[i] = _mm256_cvtph_ps(halves[i]);
  Float16x value;
  __builtin_memcpy(&value, parts, sizeof(value));
  return value;
}
SHARDC_INLINE Short16x narrowed(Float16x value, Float16) {
  __m256 parts[2];
  __m128i halves[2];
  __builtin_memcpy(parts, &value, sizeof(value));
  for (int i = 0; i < 2; ++i)
    halves[i] = _mm256_cvtps_ph(parts[i], _MM_FROUND_TO_NEAREST_INT);
  Short16x bits;
  __builtin_memcpy(&bits, halves, sizeof(bits));
  return bits;
}
#else
// The same bits by arithmetic: exponent and mantissa moved to their places, the
// exponent's bias changed. A subnormal number is normalized by subtracting the
// power of two that its bits were added to, and made by adding 1/2, which
// rounds at 2^-24.
SHARDC_INLINE Float16x widened(Short16x bits, Float16) {
  Word16x word = __builtin_convertvector(bits, Word16x);
  Word16x magnitude = (word & 0x7fff) << 13;
  Word16x exponent = magnitude & (0x7c00 << 13);
  Word16x normal = magnitude + ((127 - 15) << 23);
  Word16x smallest = Word16x{} + (113 << 23);
  Word16x subnormal =
      (Word16x)((Float16x)(normal + (1 << 23)) - (Float16x)smallest);
  Word16x result =
      exponent == (0x7c00 << 13)
          // A signalling NaN becomes a quiet one, as F16C makes it.
          ? (normal + ((127 - 15) << 23)) |
                ((magnitude << 9) != 0 ? Word16x{} + 0x400000 : Word16x{})
          : (exponent == 0 ? subnormal : normal);
  return (Float16x)(result | ((word & 0x8000) << 16));
}
SHARDC_INLINE Short16x narrowed(Float16x value, Float16) {
  Word16x word = (Word16x)value, magnitude = word & 0x7fffffff;
  Word16x odd = (magnitude >> 13) & 1;
  Word16x normal = (magnitude - ((127 - 15) << 23) + 0xfff + odd) >> 13;
  Word16x subnormal = (Word16x)((Float16x)magnitude + 0.5f) - 0x3f000000;
  Word16x finite = magnitude < (113 << 23) ? subnormal : normal;
  Word16x nan = ((magnitude >> 13) & 0x3ff) | 0x7e00;
  Word16x result = magnitude > 0x7f800000            ? nan
                   : magnitude >= ((127 + 16) << 23) ? Word16x{} + 0x7c00
                                                     : finite;
  return __builtin_convertvector(result | ((word >> 16) & 0x8000), Short16x);
}
#endif

template <typename S> SHARDC_INLINE Float16x loadNarrow(const S *from) {
  Short16x bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return widened(bits, S());
}
template <typename S> SHARDC_INLINE void storeNarrow(S *to, Float16x value) {
  Short16x bits = narrowed(value, S());
  __builtin_memcpy(to, &bits, sizeof(bits));
}
/// The first `count` elements; the rest are `rest`.
template <typename S>
SHARDC_INLINE Float16x loadNarrowPart(const S *from, int64_t count,
                                      float rest) {
  Short16x bits = {};
  for (int64_t i = 0; i < count; ++i)
    bits[i] = from[i].bits;
  Float16x value = widened(bits, S());
  for (int64_t i = count; i < lanes<float>; ++i)
    value[i] = rest;
  return value;
}
template <typename S>
SHARDC_INLINE void storeNarrowPart(S *to, Float16x value, int64_t count) {
  Short16x bits = narrowed(value, S());
  for (int64_t i = 0; i < count; ++i)
    to[i].bits = bits[i];
}

} // namespace

#endif

// The registers in which Pack.cpp copies and transposes 32-bit elements: 16 of
// them with AVX-512, 8 with AVX2. Include from Pack.cpp only: its flags differ
// from the rest.
#ifndef SHARDC_RUNTIME_SIMD_PACKLANES_H
#define SHARDC_RUNTIME_SIMD_PACKLANES_H

#include "runtime/simd/Half.h"

#include <cstdint>
#include <immintrin.h>

// In an unnamed namespace: the same names exist in two object files, compiled
// differently.
namespace {
namespace pack {

using shardc::runtime::BFloat16;
using shardc::runtime::Float16;

#ifdef __AVX512F__

constexpr int64_t lanes = 16;
using Words = __m512i;
using Mask = __mmask16;

/// The first `count` lanes, or all.
inline Mask maskOf(int64_t count) {
  return count >= lanes ? Mask(0xffff) : Mask((1u << count) - 1);
}
inline Words zeros() { return _mm512_setzero_si512(); }

/// Elements as 32 bits each: floats, or what they are called below. Lanes
/// outside the mask are 0 and are not read.
inline Words load(const float *from, Mask mask) {
  return _mm512_maskz_loadu_epi32(mask, from);
}
inline Words load(const BFloat16 *from, Mask mask) {
  return _mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16);
}
inline Words load(const Float16 *from, Mask mask) {
  return _mm512_castps_si512(
      _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from)));
}
inline void store(void *to, Mask mask, Words value) {
  _mm512_mask_storeu_epi32(to, mask, value);
}

/// Rows become columns.
inline void transposeLanes(Words (&v)[lanes]) {
  Words t[16];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  // Within each 128 bits: columns 0 to 3 of the rows 4 i to 4 i + 3.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    v[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  // The 4 x 4 blocks of 128 bits.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0x88);
    t[8 + i] = _mm512_shuffle_i32x4(v[i], v[4 + i], 0xdd);
    t[12 + i] = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0xdd);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[4 + i], 0x88);
    v[8 + i] = _mm512_shuffle_i32x4(t[i], t[4 + i], 0xdd);
    v[4 + i] = _mm512_shuffle_i32x4(t[8 + i], t[12 + i], 0x88);
    v[12 + i] = _mm512_shuffle_i32x4(t[8 + i], t[12 + i], 0xdd);
  }
}

#else

constexpr int64_t lanes = 8;
using Words = __m256i;
/// The number of lanes, from the first on.
using Mask = int64_t;

inline Mask maskOf(int64_t count) { return count < lanes ? count : lanes; }
inline Words zeros() { return _mm256_setzero_si256(); }

inline Words bitsOf(Mask mask) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(mask)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
template <typename H> inline __m128i loadHalves(const H *from, Mask mask) {
  if (mask == lanes)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  alignas(16) uint16_t words[lanes] = {};
  for (int64_t i = 0; i < mask; ++i)
    words[i] = from[i].bits;
  return _mm_load_si128(reinterpret_cast<const __m128i *>(words));
}

inline Words load(const float *from, Mask mask) {
  if (mask == lanes)
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  return _mm256_maskload_epi32(reinterpret_cast<const int *>(from),
                               bitsOf(mask));
}
inline Words load(const BFloat16 *from, Mask mask) {
  return _mm256_slli_epi32(_mm256_cvtepu16_epi32(loadHalves(from, mask)), 16);
}
inline Words load(const Float16 *from, Mask mask) {
  return _mm256_castps_si256(_mm256_cvtph_ps(loadHalves(from, mask)));
}
inline void store(void *to, Mask mask, Words value) {
  if (mask == lanes)
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), value);
  else
    _mm256_maskstore_epi32(reinterpret_cast<int *>(to), bitsOf(mask), value);
}

/// Rows become columns.
inline void transposeLanes(Words (&v)[lanes]) {
  Words t[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  // Within each 128 bits: columns 0 to 3 of the rows 4 i to 4 i + 3.
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    v[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    v[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    v[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  // The 2 x 2 blocks of 128 bits.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2x128_si256(v[i], v[4 + i], 0x20);
    t[4 + i] = _mm256_permute2x128_si256(v[i], v[4 + i], 0x31);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    v[i] = t[i];
}

#endif

} // namespace pack
} // namespace

#endif

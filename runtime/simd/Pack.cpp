// Copies and transpositions of 16 x 16 elements of 32 bits. Compiled for
// x86-64-v4, whatever the rest is compiled for: include nothing here that has
// inline functions others share.
#include "runtime/simd/Pack.h"

#include <immintrin.h>

namespace shardc::runtime::simd::pack {
namespace {

inline __mmask16 maskOf(int64_t count) {
  return count >= 16 ? __mmask16(0xffff) : __mmask16((1u << count) - 1);
}

/// Sources are read in short runs, which the processor's own prefetching
/// misses: rows are prefetched this many rows ahead. An address behind the
/// matrix does no harm.
constexpr int64_t rowsAhead = 16;
/// Rows are prefetched less far ahead where runs are long, so that they are
/// still in the cache when they are read.
constexpr int64_t longRowsAhead = 2, longRow = 192; // elements
template <typename S>
inline void prefetch(const S *from, int64_t fromStride,
                     int64_t rows = rowsAhead) {
  _mm_prefetch(reinterpret_cast<const char *>(from + rows * fromStride),
               _MM_HINT_T0);
}

/// 16 elements as 32 bits each: floats, or what they are called below.
inline __m512i load(const float *from, __mmask16 mask) {
  return _mm512_maskz_loadu_epi32(mask, from);
}
inline __m512i load(const BFloat16 *from, __mmask16 mask) {
  return _mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16);
}
inline __m512i load(const Float16 *from, __mmask16 mask) {
  return _mm512_castps_si512(
      _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from)));
}

/// Rows become columns.
inline void transpose16(__m512i (&v)[16]) {
  __m512i t[16];
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

/// to[c, r] = rowOf(r, c, ...), 32 bits each. Source rows are read along, 16 at
/// a time.
template <typename Load>
inline void transposeBlocks(uint32_t *to, int64_t toStride, int64_t rows,
                            int64_t columns, Load &&loadRow) {
  for (int64_t row = 0; row < rows; row += 16) {
    __mmask16 ofRows = maskOf(rows - row);
    for (int64_t column = 0; column < columns; column += 16) {
      __m512i v[16];
      if (rows - row >= 16) {
#pragma unroll
        for (int i = 0; i < 16; ++i)
          v[i] = loadRow(row + i, column);
      } else {
        for (int i = 0; i < 16; ++i)
          v[i] = row + i < rows ? loadRow(row + i, column)
                                : _mm512_setzero_si512();
      }
      transpose16(v);
      uint32_t *target = to + column * toStride + row;
      if (columns - column >= 16) {
#pragma unroll
        for (int i = 0; i < 16; ++i)
          _mm512_mask_storeu_epi32(target + i * toStride, ofRows, v[i]);
      } else {
        alignas(64) uint32_t block[16][16];
#pragma unroll
        for (int i = 0; i < 16; ++i)
          _mm512_store_si512(block[i], v[i]);
        for (int64_t i = 0; i < columns - column; ++i)
          _mm512_mask_storeu_epi32(target + i * toStride, ofRows,
                                   _mm512_load_si512(block[i]));
      }
    }
  }
}

template <typename S>
inline void transposeOf(float *to, int64_t toStride, const S *from,
                        int64_t fromStride, int64_t rows, int64_t columns) {
  transposeBlocks(reinterpret_cast<uint32_t *>(to), toStride, rows, columns,
                  [&](int64_t row, int64_t column) {
                    const S *source = from + row * fromStride + column;
                    prefetch(source, fromStride);
                    return load(source, maskOf(columns - column));
                  });
}

template <typename S>
inline void copyOf(float *to, int64_t toStride, const S *from,
                   int64_t fromStride, int64_t rows, int64_t columns) {
  int64_t ahead = columns >= longRow ? longRowsAhead : rowsAhead;
  for (int64_t row = 0; row < rows; ++row) {
    const S *source = from + row * fromStride;
    float *target = to + row * toStride;
    int64_t column = 0;
    for (; column + 64 <= columns; column += 64) {
      for (int64_t i = 0; i < 64; i += 64 / int64_t(sizeof(S)))
        prefetch(source + column + i, fromStride, ahead);
      __m512i a = load(source + column, 0xffff);
      __m512i b = load(source + column + 16, 0xffff);
      __m512i c = load(source + column + 32, 0xffff);
      __m512i d = load(source + column + 48, 0xffff);
      _mm512_storeu_si512(target + column, a);
      _mm512_storeu_si512(target + column + 16, b);
      _mm512_storeu_si512(target + column + 32, c);
      _mm512_storeu_si512(target + column + 48, d);
    }
    for (; column < columns; column += 16) {
      __mmask16 mask = maskOf(columns - column);
      _mm512_mask_storeu_epi32(target + column, mask,
                               load(source + column, mask));
    }
  }
}

/// 16 elements of two rows: pairs. `second` null: zeros.
inline __m512i loadPairs(const BFloat16 *first, const BFloat16 *second,
                         __mmask16 mask) {
  __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, first));
  if (!second)
    return low;
  __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, second));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

} // namespace

#define SHARDC_PACK(S)                                                         \
  void copy(float *to, int64_t toStride, const S *from, int64_t fromStride,    \
            int64_t rows, int64_t columns) {                                   \
    copyOf(to, toStride, from, fromStride, rows, columns);                     \
  }                                                                            \
  void transpose(float *to, int64_t toStride, const S *from,                   \
                 int64_t fromStride, int64_t rows, int64_t columns) {          \
    transposeOf(to, toStride, from, fromStride, rows, columns);                \
  }
SHARDC_PACK(float)
SHARDC_PACK(BFloat16)
SHARDC_PACK(Float16)

void copyDepth(BFloat16 *to, int64_t toStride, const BFloat16 *from,
               int64_t fromStride, int64_t rows, int64_t depth) {
  int64_t ahead = depth >= longRow ? longRowsAhead : rowsAhead;
  for (int64_t row = 0; row < rows; ++row) {
    const BFloat16 *source = from + row * fromStride;
    BFloat16 *target = to + row * toStride;
    for (int64_t i = 0; i < depth; i += 32) {
      prefetch(source + i, fromStride, ahead);
      auto mask = [](int64_t count) {
        return count >= 32 ? ~__mmask32(0) : (__mmask32(1) << count) - 1;
      };
      _mm512_mask_storeu_epi16(
          target + i, mask((depth - i + 1) & ~int64_t(1)),
          _mm512_maskz_loadu_epi16(mask(depth - i), source + i));
    }
  }
}

void copyPairs(BFloat16 *to, int64_t toStride, const BFloat16 *from,
               int64_t fromStride, int64_t depth, int64_t columns) {
  auto *pairs = reinterpret_cast<uint32_t *>(to);
  for (int64_t row = 0; row < depth; row += 2) {
    const BFloat16 *first = from + row * fromStride;
    const BFloat16 *second = row + 1 < depth ? first + fromStride : nullptr;
    uint32_t *target = pairs + row / 2 * toStride;
    for (int64_t column = 0; column < columns; column += 16) {
      __mmask16 mask = maskOf(columns - column);
      if (column % 32 == 0) {
        prefetch(first + column, fromStride);
        prefetch(first + fromStride + column, fromStride);
      }
      _mm512_mask_storeu_epi32(
          target + column, mask,
          loadPairs(first + column, second ? second + column : nullptr, mask));
    }
  }
}

void transposePairs(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                    int64_t fromStride, int64_t columns, int64_t depth) {
  transposeBlocks(reinterpret_cast<uint32_t *>(to), toStride, columns,
                  (depth + 1) / 2, [&](int64_t row, int64_t pair) {
                    int64_t left = depth - 2 * pair;
                    __mmask32 mask =
                        left >= 32 ? ~__mmask32(0) : (__mmask32(1) << left) - 1;
                    return _mm512_maskz_loadu_epi16(
                        mask, from + row * fromStride + 2 * pair);
                  });
}

void transposeDepth(BFloat16 *to, int64_t toStride, const BFloat16 *from,
                    int64_t fromStride, int64_t depth, int64_t columns) {
  transposeBlocks(
      reinterpret_cast<uint32_t *>(to), toStride / 2, (depth + 1) / 2, columns,
      [&](int64_t pair, int64_t column) {
        const BFloat16 *first = from + 2 * pair * fromStride + column;
        prefetch(first, 2 * fromStride);
        prefetch(first + fromStride, 2 * fromStride);
        return loadPairs(first,
                         2 * pair + 1 < depth ? first + fromStride : nullptr,
                         maskOf(columns - column));
      });
}

} // namespace shardc::runtime::simd::pack

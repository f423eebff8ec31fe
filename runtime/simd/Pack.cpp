// Copies and transpositions of blocks of 16 x 16 (AVX2: 8 x 8) elements of 32
// bits. Compiled for x86-64-v3 and -v4, whatever the rest is compiled for:
// include nothing here that has inline functions others share.
#include "runtime/simd/Pack.h"

#include "runtime/simd/PackLanes.h"

namespace {
namespace pack {

/// Sources are read in short runs, which the processor's own prefetching
/// misses: rows are prefetched a block ahead. An address behind the
/// matrix does no harm.
constexpr int64_t rowsAhead = lanes;
/// Rows are prefetched less far ahead where runs are long, so that they are
/// still in the cache when they are read.
constexpr int64_t longRowsAhead = 2, longRow = 192; // elements
template <typename S>
inline void prefetch(const S *from, int64_t fromStride,
                     int64_t rows = rowsAhead) {
  _mm_prefetch(reinterpret_cast<const char *>(from + rows * fromStride),
               _MM_HINT_T0);
}

/// to[c, r] = loadRow(r, c), 32 bits each. Source rows are read along, a
/// register at a time.
template <typename Load>
inline void transposeBlocks(uint32_t *to, int64_t toStride, int64_t rows,
                            int64_t columns, Load &&loadRow) {
  for (int64_t row = 0; row < rows; row += lanes) {
    Mask ofRows = maskOf(rows - row);
    for (int64_t column = 0; column < columns; column += lanes) {
      Words v[lanes];
      if (rows - row >= lanes) {
#pragma unroll
        for (int64_t i = 0; i < lanes; ++i)
          v[i] = loadRow(row + i, column);
      } else {
        for (int64_t i = 0; i < lanes; ++i)
          v[i] = row + i < rows ? loadRow(row + i, column) : zeros();
      }
      transposeLanes(v);
      uint32_t *target = to + column * toStride + row;
      if (columns - column >= lanes) {
#pragma unroll
        for (int64_t i = 0; i < lanes; ++i)
          store(target + i * toStride, ofRows, v[i]);
      } else {
#pragma unroll
        for (int64_t i = 0; i < lanes; ++i)
          if (i < columns - column)
            store(target + i * toStride, ofRows, v[i]);
      }
    }
  }
}

template <typename S>
void transpose(float *to, int64_t toStride, const S *from, int64_t fromStride,
               int64_t rows, int64_t columns) {
  transposeBlocks(reinterpret_cast<uint32_t *>(to), toStride, rows, columns,
                  [&](int64_t row, int64_t column) {
                    const S *source = from + row * fromStride + column;
                    prefetch(source, fromStride);
                    return load(source, maskOf(columns - column));
                  });
}

template <typename S>
void copy(float *to, int64_t toStride, int64_t panelStride, const S *from,
          int64_t fromStride, int64_t rows, int64_t columns) {
  constexpr int64_t atOnce = 4 * lanes; // a panel
  int64_t ahead = columns >= longRow ? longRowsAhead : rowsAhead;
  for (int64_t row = 0; row < rows; ++row) {
    const S *source = from + row * fromStride;
    float *target = to + row * toStride;
    int64_t column = 0;
    for (; column + atOnce <= columns;
         column += atOnce, target += panelStride) {
      for (int64_t i = 0; i < atOnce; i += 64 / int64_t(sizeof(S)))
        prefetch(source + column + i, fromStride, ahead);
      Mask all = maskOf(lanes);
      Words a = load(source + column, all);
      Words b = load(source + column + lanes, all);
      Words c = load(source + column + 2 * lanes, all);
      Words d = load(source + column + 3 * lanes, all);
      store(target, all, a);
      store(target + lanes, all, b);
      store(target + 2 * lanes, all, c);
      store(target + 3 * lanes, all, d);
    }
    for (; column < columns; column += lanes, target += lanes) {
      Mask mask = maskOf(columns - column);
      store(target, mask, load(source + column, mask));
    }
  }
}

#ifdef __AVX512F__

/// 16 elements of two rows: pairs. `second` null: zeros.
inline Words loadPairs(const BFloat16 *first, const BFloat16 *second,
                       Mask mask) {
  Words low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, first));
  if (!second)
    return low;
  Words high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, second));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

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
      Mask mask = maskOf(columns - column);
      if (column % 32 == 0) {
        prefetch(first + column, fromStride);
        prefetch(first + fromStride + column, fromStride);
      }
      store(
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

#endif

} // namespace pack
} // namespace

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {

extern const PackLoops<float> packFloatTable;
extern const PackLoops<BFloat16> packBFloat16Table;
extern const PackLoops<Float16> packFloat16Table;
const PackLoops<float> packFloatTable{pack::copy<float>, pack::transpose<float>,
                                      4 * pack::lanes};
const PackLoops<BFloat16> packBFloat16Table{
    pack::copy<BFloat16>, pack::transpose<BFloat16>, 4 * pack::lanes};
const PackLoops<Float16> packFloat16Table{
    pack::copy<Float16>, pack::transpose<Float16>, 4 * pack::lanes};
#ifdef __AVX512F__
extern const PackPairLoops packPairTable;
const PackPairLoops packPairTable{pack::copyDepth, pack::transposeDepth,
                                  pack::copyPairs, pack::transposePairs};
#endif

} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL

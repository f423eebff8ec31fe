// What attention forward and backward share: the addresses of heads, and one
// block of masked scores.
#ifndef SHARDC_RUNTIME_CPU_ATTENTION_ATTENTIONBLOCKS_H
#define SHARDC_RUNTIME_CPU_ATTENTION_ATTENTIONBLOCKS_H

#include "runtime/base/Threefry.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/attention/Attention.h"
#include "runtime/cpu/products/Gemm.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace shardc::runtime::cpu {

/// The rows of one head of a [B, S, H, D] tensor.
template <typename T> struct Head {
  T *data;
  int64_t stride; // from position to position
  T *row(int64_t position) const { return data + position * stride; }
};
template <typename T>
Head<T> head(const Tensor &tensor, int64_t batch, int64_t index) {
  // The stride of a dim of size 1 says nothing; products want a row's length.
  int64_t stride = tensor.shape[1] > 1 ? tensor.strides[1]
                                       : std::max<int64_t>(tensor.shape[3], 1);
  return {tensor.as<T>() + batch * tensor.strides[0] +
              index * tensor.strides[2],
          stride};
}

/// Returns a block of rows of an operand as numbers that can be computed with:
/// where they lie, or converted to `scratch` where elements have 16 bits. Row 0
/// of the result is row `first`.
template <typename S>
Head<ComputeOf<S>> loadBlock(Head<S> rows, int64_t first, int64_t count,
                             int64_t dim, ComputeOf<S> *scratch) {
  if constexpr (isHalfType<S>) {
    widenRows(rows.row(first), rows.stride, scratch, dim, count, dim);
    return {scratch, dim};
  } else {
    return {rows.row(first), rows.stride};
  }
}
/// A block of rows of a result: it is computed in place or in `scratch`, and
/// storeBlock() brings it to where it belongs.
template <typename S>
Head<ComputeOf<S>> resultBlock(Head<S> rows, int64_t first, int64_t dim,
                               ComputeOf<S> *scratch) {
  if constexpr (isHalfType<S>)
    return {scratch, dim};
  else
    return {rows.row(first), rows.stride};
}
template <typename S>
void storeBlock(Head<ComputeOf<S>> block, Head<S> rows, int64_t first,
                int64_t count, int64_t dim) {
  if constexpr (isHalfType<S>)
    roundRows(block.data, block.stride, rows.row(first), rows.stride, count,
              dim);
}

struct AttentionShape {
  explicit AttentionShape(const Attention &a)
      : batch(a.query.shape[0]), queries(a.query.shape[1]),
        heads(a.query.shape[2]), headDim(a.query.shape[3]),
        keys(a.key.shape[1]), groups(a.key.shape[2]),
        valueDim(a.value.shape[3]), headsPerGroup(groups ? heads / groups : 0) {
  }
  int64_t batch, queries, heads, headDim, keys, groups, valueDim, headsPerGroup;
};

/// Keys [begin, end).
struct KeyRange {
  int64_t begin, end;
  /// Those of `count` keys from `first` on, counted from there.
  KeyRange within(int64_t first, int64_t count) const {
    int64_t from = std::clamp<int64_t>(begin - first, 0, count);
    return {from, std::clamp<int64_t>(end - first, from, count)};
  }
};
/// What query `row` sees of the keys, as far as positions say.
inline KeyRange seenKeys(const Attention &a, int64_t row) {
  int64_t keys = a.key.shape[1], own = row + keys - a.query.shape[1];
  KeyRange seen{0, keys};
  if (a.left >= 0)
    seen.begin = std::clamp<int64_t>(own - a.left, 0, keys);
  if (a.right >= 0)
    seen.end = std::clamp<int64_t>(own + a.right + 1, 0, keys);
  return seen;
}
/// The blocks of keys of which queries [row, row + rows) see some; a block
/// begins at a multiple of its size.
inline KeyRange seenBlocks(const Attention &a, int64_t row, int64_t rows) {
  int64_t begin = seenKeys(a, row).begin;
  return {begin - begin % keyBlock, seenKeys(a, row + rows - 1).end};
}

/// The score that a head's rows have beside those of their keys; -inf: none.
template <typename T> T sinkOf(const Attention &a, int64_t head) {
  T sink = -std::numeric_limits<T>::infinity();
  if (a.sinks)
    withFloat(a.sinks.dtype,
              [&]<typename S>(S) { sink = T(widened(a.sinks.as<S>()[head])); });
  return sink;
}

/// What a head's rows of probabilities are multiplied with, block by block.
template <typename T> class DroppedRows {
public:
  explicit DroppedRows(const Attention &a)
      : a(a), words(a.words ? a.words.as<int32_t>() : nullptr) {
    if (words)
      scale = std::bit_cast<double>(uint64_t(word(ScaleHigh)) << 32 |
                                    word(ScaleLow));
  }

  /// Of keys `within` the block that begins at key `block`; null: they are all
  /// kept.
  const T *factors(int64_t batch, int64_t head, int64_t row, int64_t block,
                   KeyRange within) {
    if (!words)
      return nullptr;
    constexpr int64_t together = 64;
    const int64_t index =
        (batch * a.query.shape[2] + head) * a.query.shape[1] + row;
    const int64_t samples = std::max<int64_t>(a.samples, 1);
    const int64_t stride = a.samples ? a.rowStride : index + 1;
    const auto number = static_cast<uint32_t>(
        index / (stride * samples) * stride + index % stride);
    const auto sample =
        a.samples ? word(FirstSample) +
                        static_cast<uint32_t>(index / stride % samples)
                  : 0;
    const int64_t skipped = within.begin / together * together;
    simd::loops<T>().droppedRow(factorsOfRow.data() + skipped,
                                {word(Key0), word(Key1) + number, sample,
                                 words[Threshold] >> 16, scale},
                                block + skipped, within.end - skipped);
    return factorsOfRow.data() + within.begin;
  }

private:
  uint32_t word(DrawnWord place) const {
    return static_cast<uint32_t>(words[place]);
  }

  const Attention &a;
  const int32_t *words;
  double scale = 1;
  std::array<T, keyBlock> factorsOfRow;
};

/// The bias and the mask of one row of scores, from key `first` on.
template <typename T> struct RowModifiers {
  const T *bias = nullptr;
  const uint8_t *mask = nullptr;
};
template <typename T, typename S>
void addBias(T *scores, const S *bias, int64_t stride, int64_t count) {
  if (isHalfType<S> && stride == 1) {
    ComputeOf<S> row[keyBlock];
    widenRow(bias, row, count);
    for (int64_t i = 0; i < count; ++i)
      scores[i] += T(row[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    scores[i] += T(widened(bias[i * stride]));
}

/// A bias whose last dim is not contiguous, or whose elements have 16 bits, is
/// added here, to `scores`; others are left to the row's kernel.
template <typename T>
RowModifiers<T> rowModifiers(const Attention &a, int64_t batch, int64_t head,
                             int64_t row, int64_t first, T *scores,
                             int64_t count) {
  RowModifiers<T> modifiers;
  if (a.keyMask)
    modifiers.mask = a.keyMask.as<uint8_t>() + batch * a.keyMask.strides[0] +
                     first * a.keyMask.strides[1];
  if (a.bias) {
    const int64_t index[4] = {batch, head, row, first};
    int64_t offset = 0;
    for (int dim = 0; dim < 4; ++dim)
      if (a.bias.shape[dim] != 1)
        offset += index[dim] * a.bias.strides[dim];
    int64_t stride = a.bias.shape[3] == 1 ? 0 : a.bias.strides[3];
    withFloat(a.bias.dtype, [&]<typename S>(S) {
      const S *bias = a.bias.as<S>() + offset;
      if constexpr (std::is_same_v<S, T>) {
        if (stride == 1) {
          modifiers.bias = bias;
          return;
        }
      }
      addBias(scores, bias, stride, count);
    });
  }
  return modifiers;
}

/// scores [rows, count] = alpha * a b^T, with a's rows in `left` and b's in
/// `right`.
template <typename T>
void rowsTimesRows(T *scores, Head<T> left, int64_t rows, Head<T> right,
                   int64_t count, int64_t dim, double alpha) {
  Gemm<T> p{};
  p.m = rows, p.n = count, p.k = dim;
  p.a = left.data, p.strideA = left.stride;
  p.b = right.data, p.strideB = right.stride, p.transposeB = true;
  p.c = scores, p.strideC = keyBlock;
  p.alpha = T(alpha);
  gemm(p);
}

} // namespace shardc::runtime::cpu

#endif

// What forward and backward share: addresses of heads, and one block of masked
// scores.
#ifndef SHARDC_RUNTIME_CPU_ATTENTIONBLOCKS_H
#define SHARDC_RUNTIME_CPU_ATTENTIONBLOCKS_H

#include "runtime/cpu/Attention.h"
#include "runtime/cpu/Gemm.h"

#include <algorithm>

namespace shardc::runtime::cpu {

/// Rows of one head of a [B, S, H, D] tensor.
template <typename T> struct Head {
  T *data;
  int64_t stride; // from position to position
  T *row(int64_t position) const { return data + position * stride; }
};
template <typename T>
Head<T> head(const Tensor &tensor, int64_t batch, int64_t index) {
  return {tensor.as<T>() + batch * tensor.strides[0] +
              index * tensor.strides[2],
          tensor.strides[1]};
}

template <typename T> struct AttentionShape {
  explicit AttentionShape(const Attention &a)
      : batch(a.query.shape[0]), queries(a.query.shape[1]),
        heads(a.query.shape[2]), headDim(a.query.shape[3]),
        keys(a.key.shape[1]), groups(a.key.shape[2]),
        valueDim(a.value.shape[3]), headsPerGroup(groups ? heads / groups : 0) {
  }
  int64_t batch, queries, heads, headDim, keys, groups, valueDim, headsPerGroup;
};

/// Keys that query `row` sees.
inline int64_t visibleKeys(const Attention &a, int64_t row) {
  int64_t keys = a.key.shape[1];
  if (!a.causal)
    return keys;
  return std::clamp<int64_t>(row + keys - a.query.shape[1] + 1, 0, keys);
}

/// Bias and mask of one row of scores, from key `first` on.
template <typename T> struct RowModifiers {
  const T *bias = nullptr;
  const uint8_t *mask = nullptr;
};
/// A bias whose last dim is not contiguous is added here, to `scores`; others
/// are left to the row's kernel.
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
    const T *bias = a.bias.as<T>();
    for (int dim = 0; dim < 4; ++dim)
      if (a.bias.shape[dim] != 1)
        bias += index[dim] * a.bias.strides[dim];
    int64_t stride = a.bias.shape[3] == 1 ? 0 : a.bias.strides[3];
    if (stride == 1)
      modifiers.bias = bias;
    else
      for (int64_t i = 0; i < count; ++i)
        scores[i] += bias[i * stride];
  }
  return modifiers;
}

/// scores [rows, count] = alpha * a b^T, with a's rows in `left` and b's in
/// `right`.
template <typename T>
void rowsTimesRows(T *scores, Head<T> left, int64_t leftFirst, int64_t rows,
                   Head<T> right, int64_t rightFirst, int64_t count,
                   int64_t dim, double alpha) {
  Gemm<T> p{};
  p.m = rows, p.n = count, p.k = dim;
  p.a = left.row(leftFirst), p.strideA = left.stride;
  p.b = right.row(rightFirst), p.strideB = right.stride, p.transposeB = true;
  p.c = scores, p.strideC = keyBlock;
  p.alpha = T(alpha);
  gemm(p);
}

} // namespace shardc::runtime::cpu

#endif

// From a product of query and key to a score: scale, bias and masks.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONSCORES_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONSCORES_H

#include "runtime/cuda/kernels/AttentionParameters.h"
#include "runtime/cuda/kernels/BlockSums.h"
#include "runtime/cuda/kernels/Functions.h"

/// A device function whose parameters stay in registers.
#define SHARDC_INLINE SHARDC_DEVICE __attribute__((always_inline))

namespace shardc::runtime::cuda {

SHARDC_INLINE float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
SHARDC_INLINE double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

SHARDC_INLINE int least(int a, int b) { return a < b ? a : b; }
SHARDC_INLINE int most(int a, int b) { return a > b ? a : b; }

/// An element as a number that is computed with, and back, to nearest even.
SHARDC_INLINE double computed(double value) { return value; }
SHARDC_INLINE float computed(float value) { return value; }
SHARDC_INLINE float computed(Bf16 value) {
  return __builtin_bit_cast(float, Word32(value.bits) << 16);
}
SHARDC_INLINE float computed(F16 value) {
  return float(__builtin_bit_cast(_Float16, value.bits));
}
SHARDC_INLINE void store(double value, double &to) { to = value; }
SHARDC_INLINE void store(float value, float &to) { to = value; }
SHARDC_INLINE void store(float value, Bf16 &to) {
  to.bits = __builtin_bit_cast(Word16, static_cast<__bf16>(value));
}
SHARDC_INLINE void store(float value, F16 &to) {
  to.bits = __builtin_bit_cast(Word16, static_cast<_Float16>(value));
}

/// Query `query` sees keys from firstKey() up to endKey(), as far as positions
/// say.
SHARDC_INLINE int firstKey(const AttentionParameters &a, int query) {
  return most(query + int(a.before), 0);
}
SHARDC_INLINE int endKey(const AttentionParameters &a, int query) {
  return least(query + int(a.before) + int(a.span), int(a.keys));
}
/// Key `key` is seen by queries from firstQuery() up to endQuery().
SHARDC_INLINE int firstQuery(const AttentionParameters &a, int key) {
  return most(key - int(a.before) - int(a.span) + 1, 0);
}
SHARDC_INLINE int endQuery(const AttentionParameters &a, int key) {
  return least(key - int(a.before) + 1, int(a.queries));
}

/// The score that a head's rows have beside those of their keys; -inf: none.
template <typename T, typename S>
SHARDC_INLINE T sinkOf(const AttentionParameters &a, int head) {
  if (!a.sinks)
    return -infinity<T>;
  return a.sinksAreFloat32
             ? T(reinterpret_cast<const float *>(a.sinks)[head])
             : T(computed(reinterpret_cast<const S *>(a.sinks)[head]));
}

/// The rows of one head, of which `rows` and `columns` there are.
template <typename S> struct HeadRows {
  S *data;
  Count stride;
  int rows, columns;

  SHARDC_INLINE HeadRows(const HeadsView &view, Count batch, Count head,
                         int rows, int columns)
      : data(reinterpret_cast<S *>(view.data) + batch * view.batch +
             head * view.head),
        stride(view.position), rows(int(rows)), columns(int(columns)) {}
};

template <typename S> struct ComputedIn {
  using Type = float;
};
template <> struct ComputedIn<double> {
  using Type = double;
};

/// The scores of one query head, whose elements are of type S.
template <typename S> struct ScoresOfHead {
  using T = typename ComputedIn<S>::Type;
  int queries, keys;
  int before;
  unsigned span;
  bool isWide;      // whether the bias is float32, not S
  T scale, softcap; // of 0: there is none
  /// Of row and column 0; null where there is none.
  Address bias;
  const unsigned char *mask;
  Count biasRow, biasColumn, maskColumn; // strides

  SHARDC_INLINE ScoresOfHead(const AttentionParameters &a, Count batch,
                             Count head)
      : queries(int(a.queries)), keys(int(a.keys)), before(int(a.before)),
        span(unsigned(a.span)), isWide(a.biasIsFloat32), scale(T(a.scale)),
        softcap(T(a.softcap)), bias(a.bias),
        mask(reinterpret_cast<const unsigned char *>(a.keyMask)),
        biasRow(a.biasStrides[2]), biasColumn(a.biasStrides[3]),
        maskColumn(a.keyMaskStrides[1]) {
    Count bytes = isWide ? Count(sizeof(float)) : Count(sizeof(S));
    if (bias)
      bias += (batch * a.biasStrides[0] + head * a.biasStrides[1]) * bytes;
    if (mask)
      mask += batch * a.keyMaskStrides[0];
  }

  /// As far as positions say; of numbers of keys and queries that there are.
  SHARDC_INLINE bool sees(int query, int key) const {
    return unsigned(key - query - before) < span;
  }
  SHARDC_INLINE T biasAt(int query, int key) const {
    Count at = Count(query) * biasRow + key * biasColumn;
    if (isWide)
      return T(reinterpret_cast<const float *>(bias)[at]);
    return computed(reinterpret_cast<const S *>(bias)[at]);
  }

  SHARDC_INLINE bool isSeen(int query, int key) const {
    return query < queries && key < keys && sees(query, key) &&
           (!mask || mask[key * maskColumn]);
  }
  /// `slope` becomes what a softcap's derivative is, if there is one.
  SHARDC_INLINE T capped(T score, T &slope) const {
    T bounded = hyperbolicTangent(score / softcap);
    slope = 1 - bounded * bounded;
    return softcap * bounded;
  }
  /// -inf where the query does not see the key, or one of them is none.
  SHARDC_INLINE T score(T product, int query, int key, T &slope) const {
    slope = 1;
    if (!isSeen(query, key))
      return -infinity<T>;
    T score = product * scale;
    if (softcap != 0)
      score = capped(score, slope);
    return bias ? score + biasAt(query, key) : score;
  }
};

} // namespace shardc::runtime::cuda

#endif

// Attention, backward, without matrix units: `rows` finds what each row of
// scores needs, a second kernel the gradients of keys and values, tile by tile
// over the queries of all heads that read them, a third the queries' (Dao,
// arXiv:2307.08691, in two passes instead of atomic additions: the order of sums
// is fixed).
#include "runtime/cuda/kernels/AttentionTiles.h"

namespace shardc::runtime::cuda {

/// What a backward pass reads of a row of scores.
template <typename T> struct SavedRow {
  T shift, factor, delta;

  SHARDC_INLINE SavedRow(const AttentionGradParameters &g, Count row)
      : shift(reinterpret_cast<const T *>(g.shifts)[row]),
        factor(reinterpret_cast<const T *>(g.factors)[row]),
        delta(reinterpret_cast<const T *>(g.deltas)[row]) {}

  SHARDC_INLINE T probability(T score) const {
    return exponential(score - shift) * factor;
  }
};

template <typename S>
SHARDC_INLINE void findRows(const AttentionGradParameters &g) {
  using T = typename ComputedIn<S>::Type;
  SHARDC_SHARED int anyLost;
  const AttentionParameters &a = g.forward;
  TileOfHead at(int(a.queries), 1, int(a.heads));
  Count before = (Count(at.batch) * a.heads + at.head) * a.queries;
  HeadRows<const S> gradient(g.gradient, at.batch, at.head, a.queries,
                             a.valueDim);
  HeadRows<const S> output(a.output, at.batch, at.head, a.queries, a.valueDim);
  if (threadOfBlock() == 0)
    anyLost = 0;
  barrier();
  bool isLost[rowsOfThread];
  T shifts[rowsOfThread], factors[rowsOfThread];
  for (int i = 0; i < rowsOfThread; ++i) {
    int row = at.first + rowOfThread() + 16 * i;
    bool isThere = row < a.queries;
    T delta = 0;
    if (isThere)
      for (int e = columnOfThread(); e < a.valueDim; e += 16)
        delta =
            fused(computed(gradient.data[Count(row) * gradient.stride + e]),
                  computed(output.data[Count(row) * output.stride + e]), delta);
    delta = sumOfRow(delta);
    if (isThere && columnOfThread() == 0)
      reinterpret_cast<T *>(g.deltas)[before + row] = delta;
    shifts[i] =
        isThere ? reinterpret_cast<const T *>(a.logSumExp)[before + row] : T(0);
    factors[i] = 1;
    T size = shifts[i] < 0 ? -shifts[i] : shifts[i];
    isLost[i] = size > 256 && size < infinity<T>;
    if (isLost[i])
      anyLost = 1;
  }
  barrier();
  // log_sum_exp alone says what a row of scores became, except where it has lost
  // the sum: beside a score of -10000, of a mask that sets every key to a number,
  // few digits of the sum's logarithm are left, and none beside -3e38. Such rows
  // are summed again.
  if (anyLost) {
    Tiles<T> &tiles = sharedTiles<T>();
    HeadRows<const S> query(a.query, at.batch, at.head, a.queries, a.headDim);
    HeadRows<const S> key(a.key, at.batch, at.head / int(a.headsPerGroup),
                          a.keys, a.headDim);
    ScoresOfHead<S> of(a, at.batch, at.head);
    RunningRows<T> rows(sinkOf<T, S>(a, at.head));
    int end = endKey(a, least(at.first + attentionRows, int(a.queries)) - 1);
    for (int first = firstKey(a, at.first); first < end; first += tileColumns) {
      Scores<T> scores;
      T unused[rowsOfThread];
      multiply(tiles, query, at.first, key, first, scores);
      toScores(of, at.first, first, scores);
      rows.take(scores, unused);
    }
    for (int i = 0; i < rowsOfThread; ++i)
      if (isLost[i]) {
        shifts[i] = rows.maximum[i];
        factors[i] = 1 / rows.sum[i];
      }
  }
  for (int i = 0; i < rowsOfThread; ++i) {
    int row = at.first + rowOfThread() + 16 * i;
    if (row >= a.queries || columnOfThread() != 0)
      continue;
    reinterpret_cast<T *>(g.shifts)[before + row] =
        shifts[i] == -infinity<T> ? infinity<T> : shifts[i];
    reinterpret_cast<T *>(g.factors)[before + row] = factors[i];
  }
}

template <typename S>
SHARDC_INLINE void findQueryGradient(const AttentionGradParameters &g) {
  using T = typename ComputedIn<S>::Type;
  Tiles<T> &tiles = sharedTiles<T>();
  const AttentionParameters &a = g.forward;
  TileOfHead at(int(a.queries), int(a.headDim), int(a.heads));
  int group = at.head / int(a.headsPerGroup);
  HeadRows<const S> query(a.query, at.batch, at.head, a.queries, a.headDim);
  HeadRows<const S> key(a.key, at.batch, group, a.keys, a.headDim);
  HeadRows<const S> value(a.value, at.batch, group, a.keys, a.valueDim);
  HeadRows<const S> gradient(g.gradient, at.batch, at.head, a.queries,
                             a.valueDim);
  ScoresOfHead<S> of(a, at.batch, at.head);
  Count before = (Count(at.batch) * a.heads + at.head) * a.queries;
  Sums<T> sums{};
  int end = endKey(a, least(at.first + attentionRows, int(a.queries)) - 1);
  for (int first = firstDrawnKey(a, at.first); first < end;
       first += tileColumns) {
    Scores<T> scores, slopes;
    multiply(tiles, query, at.first, key, first, scores);
    multiply(tiles, gradient, at.first, value, first, slopes);
    KeptOfThread kept;
    if (a.words)
      kept.drawKeys(a, at.batch, at.head, at.first, first);
    const T scale = scaleOfKept<T>(a);
    for (int i = 0; i < rowsOfThread; ++i) {
      int row = at.first + rowOfThread() + 16 * i;
      SavedRow<T> saved(g, before + least(row, int(a.queries) - 1));
      for (int j = 0; j < scoresOfThread; ++j) {
        T slope;
        T score = of.score(scores[i][j], row, first + columnOfThread() + 16 * j,
                           slope);
        slopes[i][j] = saved.probability(score) *
                       (kept.of(slopes[i][j], i, j, scale) - saved.delta) *
                       of.scale * slope;
      }
    }
    shareWeights(tiles, slopes);
    addWeighted(tiles, key, first, at.column, sums);
  }
  storeRows(
      HeadRows<S>(g.queryGradient, at.batch, at.head, a.queries, a.headDim),
      at.first, at.column, sums);
}

template <typename S>
SHARDC_INLINE void findKeyGradient(const AttentionGradParameters &g) {
  using T = typename ComputedIn<S>::Type;
  Tiles<T> &tiles = sharedTiles<T>();
  const AttentionParameters &a = g.forward;
  int members = int(a.headsPerGroup);
  TileOfHead at(int(a.keys), most(int(a.headDim), int(a.valueDim)),
                int(a.heads) / members);
  HeadRows<const S> key(a.key, at.batch, at.head, a.keys, a.headDim);
  HeadRows<const S> value(a.value, at.batch, at.head, a.keys, a.valueDim);
  Sums<T> keySums{}, valueSums{};
  int begin = firstQuery(a, at.first);
  int end = endQuery(a, least(at.first + attentionRows, int(a.keys)) - 1);
  for (int member = 0; member < members; ++member) {
    int head = at.head * members + member;
    HeadRows<const S> query(a.query, at.batch, head, a.queries, a.headDim);
    HeadRows<const S> gradient(g.gradient, at.batch, head, a.queries,
                               a.valueDim);
    ScoresOfHead<S> of(a, at.batch, head);
    Count before = (Count(at.batch) * a.heads + head) * a.queries;
    for (int first = begin; first < end; first += tileColumns) {
      Scores<T> scores, slopes;
      multiply(tiles, key, at.first, query, first, scores);
      multiply(tiles, value, at.first, gradient, first, slopes);
      KeptOfThread kept;
      if (a.words)
        kept.drawRows(a, at.batch, head, at.first, first);
      const T scale = scaleOfKept<T>(a);
      for (int j = 0; j < scoresOfThread; ++j) {
        int row = first + columnOfThread() + 16 * j;
        SavedRow<T> saved(g, before + least(row, int(a.queries) - 1));
        for (int i = 0; i < rowsOfThread; ++i) {
          T slope;
          T score = of.score(scores[i][j], row,
                             at.first + rowOfThread() + 16 * i, slope);
          const T probability = saved.probability(score);
          slopes[i][j] = probability *
                         (kept.of(slopes[i][j], i, j, scale) - saved.delta) *
                         of.scale * slope;
          scores[i][j] = kept.of(probability, i, j, scale);
        }
      }
      shareWeights(tiles, scores);
      addWeighted(tiles, gradient, first, at.column, valueSums);
      shareWeights(tiles, slopes);
      addWeighted(tiles, query, first, at.column, keySums);
    }
  }
  storeRows(HeadRows<S>(g.keyGradient, at.batch, at.head, a.keys, a.headDim),
            at.first, at.column, keySums);
  storeRows(HeadRows<S>(g.valueGradient, at.batch, at.head, a.keys, a.valueDim),
            at.first, at.column, valueSums);
}

#define SHARDC_GRADIENTS(type, S)                                              \
  SHARDC_TILE_KERNEL void attention_rows_##type(AttentionGradParameters g) {   \
    findRows<S>(g);                                                            \
  }                                                                            \
  SHARDC_TILE_KERNEL void attention_query_gradient_##type(                     \
      AttentionGradParameters g) {                                             \
    findQueryGradient<S>(g);                                                   \
  }                                                                            \
  SHARDC_TILE_KERNEL void attention_key_gradient_##type(                       \
      AttentionGradParameters g) {                                             \
    findKeyGradient<S>(g);                                                     \
  }
SHARDC_GRADIENTS(f64, double)
SHARDC_GRADIENTS(f32, float)
SHARDC_GRADIENTS(bf16, Bf16)
SHARDC_GRADIENTS(f16, F16)

} // namespace shardc::runtime::cuda

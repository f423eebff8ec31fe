// Attention, forward, without matrix units: for float32 and float64, and for
// whatever AttentionMatrix.cu does not take. A block computes a tile of query
// rows, over tiles of keys; the softmax is online (Dao et al.,
// arXiv:2205.14135).
#include "runtime/cuda/kernels/AttentionTiles.h"

namespace shardc::runtime::cuda {

template <typename S> SHARDC_INLINE void attend(const AttentionParameters &a) {
  using T = typename ComputedIn<S>::Type;
  Tiles<T> &tiles = sharedTiles<T>();
  TileOfHead at(int(a.queries), int(a.valueDim), int(a.heads));
  int group = at.head / int(a.headsPerGroup);
  HeadRows<const S> query(a.query, at.batch, at.head, a.queries, a.headDim);
  HeadRows<const S> key(a.key, at.batch, group, a.keys, a.headDim);
  HeadRows<const S> value(a.value, at.batch, group, a.keys, a.valueDim);
  ScoresOfHead<S> of(a, at.batch, at.head);
  RunningRows<T> rows(sinkOf<T, S>(a, at.head));
  Sums<T> sums{};
  int end = endKey(a, least(at.first + attentionRows, int(a.queries)) - 1);
  for (int first = firstDrawnKey(a, at.first); first < end;
       first += tileColumns) {
    Scores<T> scores;
    T factors[rowsOfThread];
    multiply(tiles, query, at.first, key, first, scores);
    toScores(of, at.first, first, scores);
    rows.take(scores, factors);
    if (a.words) {
      KeptOfThread kept;
      kept.drawKeys(a, at.batch, at.head, at.first, first);
      const T scale = scaleOfKept<T>(a);
#pragma unroll
      for (int i = 0; i < rowsOfThread; ++i)
#pragma unroll
        for (int j = 0; j < scoresOfThread; ++j)
          scores[i][j] = kept.of(scores[i][j], i, j, scale);
    }
    shareWeights(tiles, scores);
    for (int i = 0; i < rowsOfThread; ++i)
      for (T &sum : sums[i])
        sum *= factors[i];
    addWeighted(tiles, value, first, at.column, sums);
  }
  auto *logSumExp = reinterpret_cast<T *>(a.logSumExp) +
                    (at.batch * a.heads + at.head) * a.queries;
  for (int i = 0; i < rowsOfThread; ++i) {
    // Where the sum is 0, everything is masked.
    T sum = rows.sum[i];
    for (T &each : sums[i])
      each = sum == 0 ? T(0) : each / sum;
    int row = at.first + rowOfThread() + 16 * i;
    if (a.logSumExp && at.column == 0 && columnOfThread() == 0 &&
        row < a.queries)
      logSumExp[row] =
          sum == 0 ? -infinity<T> : rows.maximum[i] + T(logarithm(double(sum)));
  }
  storeRows(HeadRows<S>(a.output, at.batch, at.head, a.queries, a.valueDim),
            at.first, at.column, sums);
}

SHARDC_TILE_KERNEL void attention_f64(AttentionParameters a) {
  attend<double>(a);
}
SHARDC_TILE_KERNEL void attention_f32(AttentionParameters a) {
  attend<float>(a);
}
SHARDC_TILE_KERNEL void attention_bf16(AttentionParameters a) {
  attend<Bf16>(a);
}
SHARDC_TILE_KERNEL void attention_f16(AttentionParameters a) { attend<F16>(a); }

} // namespace shardc::runtime::cuda

// Attention, forward, of 16-bit numbers by matrix units (Dao, FlashAttention-2,
// arXiv:2307.08691): scores, exponentials and sums are float32, probabilities
// are rounded to 16 bits before they are multiplied with values. Keys are copied
// to shared memory while values are multiplied with, and values while keys are.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIXFORWARD_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIXFORWARD_H

#include "runtime/cuda/kernels/AttentionMatrix.h"

namespace shardc::runtime::cuda {

/// Of the rows of a warp, over the keys that were seen so far: the largest score,
/// and the sum of the exponentials of what the others are less. `exponent`: what
/// a score is multiplied with to be one of two.
template <int rowTiles> struct RunningSoftmax {
  float exponent;
  float largest[rowTiles][2], sums[rowTiles][2];

  SHARDC_INLINE explicit RunningSoftmax(float exponent) : exponent(exponent) {
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        largest[m][half] = -infinity<float>;
        sums[m][half] = 0;
      }
  }

  /// Scores of more keys become exponentials; what was added up to outputs is
  /// scaled as they are.
  template <int columns, int width>
  SHARDC_INLINE void take(float (&scores)[rowTiles][columns][4],
                          float (&outputs)[rowTiles][width][4]) {
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float most = largest[m][half];
#pragma unroll
        for (int n = 0; n < columns; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float score = scores[m][n][2 * half + i];
            most = score > most ? score : most;
          }
#pragma unroll
        for (int distance = 1; distance < 4; distance *= 2) {
          float other = exchanged(most, distance);
          most = other > most ? other : most;
        }
        // Where all is masked so far, it stays -inf.
        float base = most == -infinity<float> ? 0 : most;
        float factor = binaryPower((largest[m][half] - base) * exponent);
        largest[m][half] = most;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < columns; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &score = scores[m][n][2 * half + i];
            score = binaryPower((score - base) * exponent);
            sum += score;
          }
        // Of the thread's columns; `finish` has the four threads of a row.
        sums[m][half] = fused(sums[m][half], factor, sum);
#pragma unroll
        for (int n = 0; n < width; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            outputs[m][n][2 * half + i] *= factor;
      }
  }

  /// The sum of a row over its threads, behind a sink, a score that comes last, of
  /// no value: what is left of the outputs then.
  SHARDC_INLINE float finish(int m, int half, float sink) {
    float &sum = sums[m][half];
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2)
      sum += exchanged(sum, distance);
    float rest = 1;
    if (sink > -infinity<float>) {
      float &most = largest[m][half], before = most;
      most = sink > most ? sink : most;
      rest = binaryPower((before - most) * exponent);
      sum = fused(sum, rest, binaryPower((sink - most) * exponent));
    }
    return rest;
  }
};

/// `drops`: probabilities.
template <typename S, int dims, bool drops>
SHARDC_INLINE void attendByMatrixUnits(const AttentionParameters &a) {
  constexpr MatrixBlock block = matrixForward(dims);
  constexpr int rowTiles = block.rowTiles, step = block.step;
  constexpr int rowBytes = matrixRowBytes(dims);
  RowsOfBlock at(int(a.queries), block.rows(), int(a.heads));
  int group = at.head / int(a.headsPerGroup);
  HeadRows<const S> query(a.query, at.batch, at.head, a.queries, a.headDim);
  HeadRows<const S> key(a.key, at.batch, group, a.keys, a.headDim);
  HeadRows<const S> value(a.value, at.batch, group, a.keys, a.valueDim);
  ScoresOfHead<S> of(a, at.batch, at.head);

  const SharedAddress queryTile = sharedBegin();
  const SharedAddress keyTile = queryTile + block.rows() * rowBytes;
  const SharedAddress valueTile = keyTile + step * rowBytes;
  const int firstOfWarp = warpOfBlock() * rowTiles * 16;
  const SharedAddress left =
      queryTile + SharedAddress(firstOfWarp * rowBytes) + leftOfLane<dims>();

  // Scores are what a product is multiplied with `unit` to be, if that is enough.
  const float scale = a.narrowCap == 0 ? of.scale : 1;
  const bool isPlain = !of.bias && scale > 0;
  const float unit = isPlain ? scale : 1;
  RunningSoftmax<rowTiles> softmax(unit * log2E);
  float outputs[rowTiles][dims / 8][4];
  clear(outputs);

  const int last = least(at.first + block.rows(), of.queries) - 1;
  const int begin = drops ? firstDrawnKey(a, at.first) : firstKey(a, at.first);
  const int end = endKey(a, last);
  fetchRows<dims, block.rows(), block.threads()>(queryTile, query, at.first);
  fetchRows<dims, step, block.threads()>(keyTile, key, begin);
#pragma clang loop unroll(disable)
  for (int first = begin; first < end; first += step) {
    awaitCopies();
    barrier(); // keys are there, and nobody reads values any more
    fetchRows<dims, step, block.threads()>(valueTile, value, first);
    float scores[rowTiles][step / 8][4];
    clear(scores);
    multiplyRows<S, dims>(scores, left, keyTile + rightOfLane<dims>());
    cap(a, scores);
    if (!isPlain)
      scaleAndBias<false>(of, scale, at.first + firstOfWarp, first, scores);
    if (of.mask || first + step > of.keys ||
        !allSee<block.rows(), step>(of, at.first, first))
      hideKeys(of, at.first + firstOfWarp, first, scores);
    softmax.take(scores, outputs);
    if constexpr (drops) {
      KeptScores<rowTiles, step / 8> kept;
      kept.drawKeys(DrawnHead(a, at.batch * int(a.heads) + at.head),
                    at.first + firstOfWarp, first);
      kept.drop(scores);
    }
    Word32 weights[rowTiles][step / 16][4];
    toWeights<S>(scores, weights);
    awaitCopies();
    barrier(); // values are there, and nobody reads keys any more
    if (first + step < end)
      fetchRows<dims, step, block.threads()>(keyTile, key, first + step);
    addProduct<S, dims>(outputs, weights, valueTile + leftOfLane<dims>());
  }
  awaitCopies();

  auto *logSumExp = reinterpret_cast<float *>(a.logSumExp) +
                    (Count(at.batch) * a.heads + at.head) * a.queries;
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float rest = softmax.finish(m, half, sinkOf<float, S>(a, at.head) / unit);
      float &sum = softmax.sums[m][half];
      int row = at.first + firstOfWarp + rowOfLane(m, half);
      if (a.logSumExp && laneOfWarp() % 4 == 0 && row < of.queries)
        logSumExp[row] = sum == 0 ? -infinity<float>
                                  : softmax.largest[m][half] * unit +
                                        float(logarithm(double(sum)));
      // Where the sum is 0, everything is masked.
      sum = sum == 0 ? 0 : rest / sum;
      if constexpr (drops)
        sum *= float(DrawnForAttention(a).scale());
    }
  storeSums(HeadRows<S>(a.output, at.batch, at.head, a.queries, a.valueDim),
            at.first + firstOfWarp, 0, outputs, softmax.sums);
}

} // namespace shardc::runtime::cuda

#endif

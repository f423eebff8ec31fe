// Attention, backward, of 16-bit numbers by matrix units: the gradients of keys
// and values in one kernel, which walks over the queries of all heads that read
// them, and the queries' in another. Each computes the scores again; sums are
// float32 and have one order, and probabilities and the gradients of scores are
// rounded to 16 bits before they are multiplied.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIXGRAD_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIXGRAD_H

#include "runtime/cuda/kernels/AttentionMatrix.h"

namespace shardc::runtime::cuda {

/// A softcap's derivative, of a score that has no bias; 0 of a masked one.
SHARDC_INLINE float capsSlope(const AttentionParameters &a, float score) {
  float bounded = score * a.capInverse;
  bounded = bounded < -1 ? -1 : bounded;
  return fused(-bounded, bounded, 1.0f);
}

/// What the forward pass saved of a warp's rows, which are queries; deltas times
/// the scale of the scores.
template <int rowTiles> struct SavedRows {
  float shifts[rowTiles][2], factors[rowTiles][2], deltas[rowTiles][2];

  /// `before`: rows of the heads before, `first`: the warp's first one.
  SHARDC_INLINE SavedRows(const AttentionGradParameters &g, Count before,
                          int first, int queries, float scale) {
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int row = least(first + rowOfLane(m, half), queries - 1);
        shifts[m][half] =
            reinterpret_cast<const float *>(g.shifts)[before + row];
        factors[m][half] =
            reinterpret_cast<const float *>(g.factors)[before + row];
        deltas[m][half] =
            reinterpret_cast<const float *>(g.deltas)[before + row] * scale;
      }
  }

  /// Gradients of probabilities become those of scores. `pull`: what they are
  /// multiplied with before.
  template <int columns>
  SHARDC_INLINE void
  toScoresGradient(const float (&scores)[rowTiles][columns][4], float pull,
                   float (&slopes)[rowTiles][columns][4]) const {
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int n = 0; n < columns; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float p = binaryPower((scores[m][n][i] - shifts[m][i / 2]) * log2E) *
                    factors[m][i / 2];
          slopes[m][n][i] = p * fused(slopes[m][n][i], pull, -deltas[m][i / 2]);
        }
  }
};

template <typename S, int dims, bool drops>
SHARDC_INLINE void
findQueryGradientByMatrixUnits(const AttentionGradParameters &g) {
  constexpr MatrixBlock block = matrixQueryGradient(dims);
  constexpr int rowTiles = block.rowTiles, step = block.step;
  constexpr int rowBytes = matrixRowBytes(dims);
  const AttentionParameters &a = g.forward;
  RowsOfBlock at(int(a.queries), block.rows(), int(a.heads));
  int group = at.head / int(a.headsPerGroup);
  HeadRows<const S> query(a.query, at.batch, at.head, a.queries, a.headDim);
  HeadRows<const S> gradient(g.gradient, at.batch, at.head, a.queries,
                             a.valueDim);
  HeadRows<const S> key(a.key, at.batch, group, a.keys, a.headDim);
  HeadRows<const S> value(a.value, at.batch, group, a.keys, a.valueDim);
  ScoresOfHead<S> of(a, at.batch, at.head);
  const float scale = a.narrowCap == 0 ? of.scale : 1;

  const SharedAddress queryTile = sharedBegin();
  const SharedAddress gradientTile = queryTile + block.rows() * rowBytes;
  const SharedAddress steps = gradientTile + block.rows() * rowBytes;
  auto keyTile = [&](int number) {
    return steps + SharedAddress(number % 2 * 2 * step * rowBytes);
  };
  auto valueTile = [&](int number) {
    return keyTile(number) + step * rowBytes;
  };
  const int firstOfWarp = warpOfBlock() * rowTiles * 16;
  const SharedAddress ofLane =
      SharedAddress(firstOfWarp * rowBytes) + leftOfLane<dims>();

  // Of the gradients of probabilities.
  const float pull =
      drops ? of.scale * float(DrawnForAttention(a).scale()) : of.scale;
  const SavedRows<rowTiles> saved(
      g, (Count(at.batch) * a.heads + at.head) * a.queries,
      at.first + firstOfWarp, of.queries, of.scale);
  float sums[rowTiles][dims / 8][4];
  clear(sums);

  const int last = least(at.first + block.rows(), of.queries) - 1;
  const int begin = drops ? firstDrawnKey(a, at.first) : firstKey(a, at.first);
  const int end = endKey(a, last);
  fetchRows<dims, block.rows(), block.threads()>(queryTile, query, at.first);
  fetchRows<dims, block.rows(), block.threads()>(gradientTile, gradient,
                                                 at.first);
  fetchRows<dims, step, block.threads()>(keyTile(0), key, begin);
  fetchRows<dims, step, block.threads()>(valueTile(0), value, begin);
#pragma clang loop unroll(disable)
  for (int first = begin, number = 0; first < end; first += step, ++number) {
    awaitCopies();
    barrier(); // this step is there, and nobody reads the one before
    if (first + step < end) {
      fetchRows<dims, step, block.threads()>(keyTile(number + 1), key,
                                             first + step);
      fetchRows<dims, step, block.threads()>(valueTile(number + 1), value,
                                             first + step);
    }
    float scores[rowTiles][step / 8][4], slopes[rowTiles][step / 8][4];
    clear(scores);
    multiplyRows<S, dims>(scores, queryTile + ofLane,
                          keyTile(number) + rightOfLane<dims>());
    cap(a, scores);
    scaleAndBias<false>(of, scale, at.first + firstOfWarp, first, scores);
    if (of.mask || first + step > of.keys ||
        !allSee<block.rows(), step>(of, at.first, first))
      hideKeys(of, at.first + firstOfWarp, first, scores);
    clear(slopes);
    multiplyRows<S, dims>(slopes, gradientTile + ofLane,
                          valueTile(number) + rightOfLane<dims>());
    if constexpr (drops) {
      KeptScores<rowTiles, step / 8> kept;
      kept.drawKeys(DrawnHead(a, at.batch * int(a.heads) + at.head),
                    at.first + firstOfWarp, first);
      kept.drop(slopes);
    }
    saved.toScoresGradient(scores, pull, slopes);
    if (a.narrowCap != 0)
      forElements<rowTiles, step / 8>([&](int m, int n, int i) {
        slopes[m][n][i] *= capsSlope(a, scores[m][n][i]);
      });
    Word32 weights[rowTiles][step / 16][4];
    toWeights<S>(slopes, weights);
    addProduct<S, dims>(sums, weights, keyTile(number) + leftOfLane<dims>());
  }
  awaitCopies();
  float factors[rowTiles][2];
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
    factors[m][0] = factors[m][1] = 1;
  storeSums(
      HeadRows<S>(g.queryGradient, at.batch, at.head, a.queries, a.headDim),
      at.first + firstOfWarp, 0, sums, factors);
}

/// Which queries see some key of a block, from `first` up to `end`, all of them,
/// from `allFrom` up to `allUpTo`, and each of a warp's rows, which are keys: row
/// (m, half) is seen by `span` queries from `begins` on.
template <int rowTiles> struct SeeingQueries {
  int first, end, allFrom, allUpTo;
  int begins[rowTiles][2];

  /// Of `rows` keys of the block from `firstKey` on; the warp's begin at
  /// `firstOfWarp` of these.
  SHARDC_INLINE SeeingQueries(const AttentionParameters &a, int batch,
                              int firstKey, int rows, int firstOfWarp) {
    const int lastKey = least(firstKey + rows, int(a.keys)) - 1;
    first = firstQuery(a, firstKey);
    end = endQuery(a, lastKey);
    allFrom = firstQuery(a, lastKey);
    allUpTo = endQuery(a, firstKey);
    const int nobody = 1 << 30; // no query comes near
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int key =
            least(firstKey + firstOfWarp + rowOfLane(m, half), int(a.keys) - 1);
        auto *mask = reinterpret_cast<const unsigned char *>(a.keyMask);
        bool isHidden =
            mask &&
            !mask[batch * a.keyMaskStrides[0] + key * a.keyMaskStrides[1]];
        begins[m][half] =
            isHidden ? nobody : key - int(a.before) - int(a.span) + 1;
      }
  }

  template <int columns>
  SHARDC_INLINE void hide(int queries, int firstColumn, unsigned span,
                          float (&scores)[rowTiles][columns][4]) const {
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int query = firstColumn + columnOfLane(n, i);
#pragma unroll
        for (int m = 0; m < rowTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            if (query >= queries || unsigned(query - begins[m][half]) >= span)
              scores[m][n][2 * half + i] = -infinity<float>;
      }
  }
};

/// What a step of queries brings: their rows, and what was saved of each.
template <typename S, int dims, bool drops> struct QueryStep {
  static constexpr MatrixBlock block = matrixKeyGradient(dims, drops);
  static constexpr int tileBytes = block.step * matrixRowBytes(dims);
  static constexpr int bytes = 2 * tileBytes + 3 * 4 * block.step;
  SharedAddress begin;

  SHARDC_INLINE SharedAddress query() const { return begin; }
  SHARDC_INLINE SharedAddress gradient() const { return begin + tileBytes; }

  SHARDC_INLINE void fetch(const AttentionGradParameters &g, int batch,
                           int head, int first) const {
    const AttentionParameters &a = g.forward;
    fetchRows<dims, block.step, block.threads()>(
        query(), HeadRows<const S>(a.query, batch, head, a.queries, a.headDim),
        first);
    fetchRows<dims, block.step, block.threads()>(
        gradient(),
        HeadRows<const S>(g.gradient, batch, head, a.queries, a.valueDim),
        first);
    static_assert(3 * block.step <= block.threads());
    int kind = threadOfBlock() / block.step;
    if (kind > 2)
      return;
    int row = first + threadOfBlock() % block.step;
    bool isThere = row < int(a.queries);
    Address all = kind == 0 ? g.shifts : kind == 1 ? g.factors : g.deltas;
    auto *source = reinterpret_cast<const float *>(all) +
                   (Count(batch) * a.heads + head) * a.queries;
    copyLater4(begin + 2 * tileBytes + SharedAddress(threadOfBlock() * 4),
               isThere ? source + row : source, isThere);
  }
  /// Number `kind` (shift, factor, delta) of a query of the step.
  SHARDC_INLINE float saved(int kind, int query) const {
    auto *all =
        (const
         __attribute__((address_space(3))) float *)(begin + 2 * tileBytes);
    return all[kind * block.step + query];
  }

  /// Scores become probabilities, and gradients of these those of scores; columns
  /// are the step's queries.
  template <int rowTiles, int columns>
  SHARDC_INLINE void
  toProbabilities(float scale, float (&scores)[rowTiles][columns][4],
                  float (&slopes)[rowTiles][columns][4]) const {
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int query = columnOfLane(n, i);
        float shift = saved(0, query);
        float factor = saved(1, query);
        float delta = saved(2, query) * scale;
#pragma unroll
        for (int m = 0; m < rowTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float &score = scores[m][n][2 * half + i];
            float &slope = slopes[m][n][2 * half + i];
            score = binaryPower((score - shift) * log2E) * factor;
            slope = score * fused(slope, scale, -delta);
          }
      }
  }
};

template <typename S, int dims, bool drops>
SHARDC_INLINE void
findKeyGradientByMatrixUnits(const AttentionGradParameters &g) {
  constexpr MatrixBlock block = matrixKeyGradient(dims, drops);
  constexpr int rowTiles = block.rowTiles, step = block.step;
  constexpr int rowBytes = matrixRowBytes(dims), width = dims / block.parts;
  const AttentionParameters &a = g.forward;
  const int members = int(a.headsPerGroup), queries = int(a.queries);
  RowsOfBlock at(int(a.keys), block.rows(), int(a.heads) / members);

  const SharedAddress keyTile = sharedBegin();
  const SharedAddress valueTile = keyTile + block.rows() * rowBytes;
  auto stepOf = [&](int number) {
    return QueryStep<S, dims, drops>{
        valueTile + block.rows() * rowBytes +
        SharedAddress(number % 2 * QueryStep<S, dims, drops>::bytes)};
  };
  constexpr int warpsOfPart = block.warps / block.parts;
  const int firstOfWarp = warpOfBlock() % warpsOfPart * rowTiles * 16;
  const int firstColumn = warpOfBlock() / warpsOfPart * width;
  const SharedAddress ofLane =
      SharedAddress(firstOfWarp * rowBytes) + leftOfLane<dims>();

  const SeeingQueries<rowTiles> seeing(a, at.batch, at.first, block.rows(),
                                       firstOfWarp);
  float keySums[rowTiles][width / 8][4], valueSums[rowTiles][width / 8][4];
  clear(keySums);
  clear(valueSums);

  // The steps of all heads that read these keys.
  const int stepsOfHead = seeing.first < seeing.end
                              ? (seeing.end - seeing.first + step - 1) / step
                              : 0;
  const int count = members * stepsOfHead;
  auto fetch = [&](int number) {
    stepOf(number).fetch(g, at.batch, at.head * members + number / stepsOfHead,
                         seeing.first + number % stepsOfHead * step);
  };
  fetchRows<dims, block.rows(), block.threads()>(
      keyTile, HeadRows<const S>(a.key, at.batch, at.head, a.keys, a.headDim),
      at.first);
  fetchRows<dims, block.rows(), block.threads()>(
      valueTile,
      HeadRows<const S>(a.value, at.batch, at.head, a.keys, a.valueDim),
      at.first);
  if (count > 0)
    fetch(0);
#pragma clang loop unroll(disable)
  for (int number = 0; number < count; ++number) {
    awaitCopies();
    barrier(); // this step is there, and nobody reads the one before
    if (number + 1 < count)
      fetch(number + 1);
    const QueryStep<S, dims, drops> current = stepOf(number);
    const int firstOfStep = seeing.first + number % stepsOfHead * step;
    const int head = at.head * members + number / stepsOfHead;
    ScoresOfHead<S> of(a, at.batch, head);
    const float scale = a.narrowCap == 0 ? of.scale : 1;
    float scores[rowTiles][step / 8][4], slopes[rowTiles][step / 8][4];
    clear(scores);
    multiplyRows<S, dims>(scores, keyTile + ofLane,
                          current.query() + rightOfLane<dims>());
    cap(a, scores);
    scaleAndBias<true>(of, scale, at.first + firstOfWarp, firstOfStep, scores);
    if (of.mask || firstOfStep < seeing.allFrom ||
        firstOfStep + step > seeing.allUpTo)
      seeing.hide(queries, firstOfStep, of.span, scores);
    clear(slopes);
    multiplyRows<S, dims>(slopes, valueTile + ofLane,
                          current.gradient() + rightOfLane<dims>());
    KeptScores<rowTiles, step / 8> kept;
    if constexpr (drops) {
      DrawnHead drawn(a, at.batch * int(a.heads) + head);
      kept.drawRows(drawn, at.first + firstOfWarp, firstOfStep);
      kept.drop(slopes, float(drawn.scale()));
    }
    if (a.narrowCap != 0)
      forElements<rowTiles, step / 8>([&](int m, int n, int i) {
        float delta = current.saved(2, columnOfLane(n, i % 2));
        float &slope = slopes[m][n][i];
        // Of a slope that is as wanted once delta is taken off.
        slope = fused(slope - delta, capsSlope(a, scores[m][n][i]), delta);
      });
    current.toProbabilities(of.scale, scores, slopes);
    if constexpr (drops)
      kept.drop(scores);
    Word32 weights[rowTiles][step / 16][4];
    toWeights<S>(scores, weights);
    addProduct<S, dims>(valueSums, weights,
                        current.gradient() + leftOfLane<dims>() +
                            SharedAddress(firstColumn * 2));
    toWeights<S>(slopes, weights);
    addProduct<S, dims>(keySums, weights,
                        current.query() + leftOfLane<dims>() +
                            SharedAddress(firstColumn * 2));
  }
  awaitCopies();
  float factors[rowTiles][2];
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
    factors[m][0] = factors[m][1] = 1;
  storeSums(HeadRows<S>(g.keyGradient, at.batch, at.head, a.keys, a.headDim),
            at.first + firstOfWarp, firstColumn, keySums, factors);
  if constexpr (drops)
    for (auto &ofTile : factors)
      ofTile[0] = ofTile[1] = float(DrawnForAttention(a).scale());
  storeSums(HeadRows<S>(g.valueGradient, at.batch, at.head, a.keys, a.valueDim),
            at.first + firstOfWarp, firstColumn, valueSums, factors);
}

} // namespace shardc::runtime::cuda

#define SHARDC_MATRIX_KERNEL(block)                                            \
  SHARDC_KERNEL __attribute__((launch_bounds((block).threads(), 1)))

/// All kernels of one class of dims, and of one type S that names call TYPE.
#define SHARDC_MATRIX_KERNELS(name, dims, drops, type, S)                      \
  namespace shardc::runtime::cuda {                                            \
  SHARDC_MATRIX_KERNEL(matrixForward(dims))                                    \
  void name##_##dims##_##type(AttentionParameters a) {                         \
    attendByMatrixUnits<S, dims, drops>(a);                                    \
  }                                                                            \
  SHARDC_MATRIX_KERNEL(matrixQueryGradient(dims))                              \
  void name##_query_gradient_##dims##_##type(AttentionGradParameters g) {      \
    findQueryGradientByMatrixUnits<S, dims, drops>(g);                         \
  }                                                                            \
  SHARDC_MATRIX_KERNEL(matrixKeyGradient(dims, drops))                         \
  void name##_key_gradient_##dims##_##type(AttentionGradParameters g) {        \
    findKeyGradientByMatrixUnits<S, dims, drops>(g);                           \
  }                                                                            \
  }

#endif

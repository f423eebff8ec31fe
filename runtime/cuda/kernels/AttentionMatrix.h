// What the attention kernels with matrix units share: where a block is, and how
// tiles of products become scores.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIX_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIX_H

#include "runtime/cuda/kernels/AttentionDropped.h"
#include "runtime/cuda/kernels/MatrixUnits.h"

namespace shardc::runtime::cuda {

/// The rows of a block, which is one of those of one head. The later rows come
/// first: where there is a causal mask, they are the longest.
struct RowsOfBlock {
  int first, head, batch;

  SHARDC_INLINE RowsOfBlock(int rows, int ofBlock, int heads) {
    int index = int(blockOfGrid());
    int tiles = (rows + ofBlock - 1) / ofBlock;
    first = (tiles - 1 - index % tiles) * ofBlock;
    index /= tiles;
    head = index % heads;
    batch = index / heads;
  }
};

/// The thread's row `half` of its warp's tile m, and its column i of tile n.
SHARDC_INLINE int rowOfLane(int m, int half) {
  return 16 * m + laneOfWarp() / 4 + 8 * half;
}
SHARDC_INLINE int columnOfLane(int n, int i) {
  return 8 * n + laneOfWarp() % 4 * 2 + i;
}

/// Calls visit(m, n, i) for all that a thread has of a tile of scores.
template <int rowTiles, int columns, typename Visit>
SHARDC_INLINE void forElements(Visit visit) {
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        visit(m, n, i);
}

/// Adds a bias of type Bias; what is no score may get any number that the bias
/// has.
template <bool isTransposed, typename Bias, typename S, int rowTiles,
          int columns>
SHARDC_INLINE void addBias(const ScoresOfHead<S> &of, int firstRow,
                           int firstColumn,
                           float (&scores)[rowTiles][columns][4]) {
  const int rows = isTransposed ? of.keys : of.queries;
  const int all = isTransposed ? of.queries : of.keys;
  const Count rowStride = isTransposed ? of.biasColumn : of.biasRow;
  const Count columnStride = isTransposed ? of.biasRow : of.biasColumn;
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = least(firstRow + rowOfLane(m, half), rows - 1);
      auto *from = reinterpret_cast<const Bias *>(of.bias) + row * rowStride;
#pragma unroll
      for (int n = 0; n < columns; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          int column = least(firstColumn + columnOfLane(n, i), all - 1);
          scores[m][n][2 * half + i] += computed(from[column * columnStride]);
        }
    }
}

/// Which of what a thread has of a tile of scores is kept: a bit for each,
/// 4 (m columns + n) + i.
template <int rowTiles, int columns> struct KeptScores {
  static constexpr int count = 4 * rowTiles * columns;
  Word32 words[(count + 31) / 32];

  SHARDC_INLINE KeptScores() {
    for (Word32 &word : words)
      word = 0;
  }
  /// Makes others 0; `scale`: of those that are kept.
  SHARDC_INLINE void drop(float (&scores)[rowTiles][columns][4],
                          float scale = 1) const {
    forElements<rowTiles, columns>([&](int m, int n, int i) {
      int at = 4 * (m * columns + n) + i;
      bool isKept = words[at / 32] >> at % 32 & 1;
      scores[m][n][i] = isKept ? scores[m][n][i] * scale : 0;
    });
  }
  /// Rows are queries; the first column is a multiple of drawnKeys. A draw has
  /// one column of each of four tiles.
  SHARDC_INLINE void drawKeys(const DrawnHead &of, int firstRow,
                              int firstColumn) {
    static_assert(columns % 4 == 0);
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma clang loop unroll(disable)
      for (int at = 0; at < columns; ++at) {
        int n = at / 4 * 4, half = at / 2 % 2, i = at % 2;
        auto drawn = of.draw(firstRow + rowOfLane(m, half),
                             firstColumn + columnOfLane(n, i));
#pragma unroll
        for (int part = 0; part < 4; ++part)
          take(of, drawn, unsigned(part), m, n + part, 2 * half + i);
      }
  }
  /// Rows are keys, columns queries. A draw has both rows of all tiles.
  SHARDC_INLINE void drawRows(const DrawnHead &of, int firstRow,
                              int firstColumn) {
    static_assert(rowTiles <= 2);
    const int key = firstRow + rowOfLane(0, 0);
#pragma clang loop unroll(disable)
    for (int at = 0; at < 2 * columns; ++at) {
      auto drawn = of.draw(firstColumn + columnOfLane(at / 2, at % 2), key);
#pragma unroll
      for (int m = 0; m < rowTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          take(of, drawn, partOfKey(unsigned(key)) + unsigned(2 * m + half), m,
               at / 2, 2 * half + at % 2);
    }
  }

private:
  SHARDC_INLINE void take(const DrawnHead &of, const TwoWords<Bits32> &drawn,
                          unsigned part, int m, int n, int i) {
    int at = 4 * (m * columns + n) + i;
    Word32 isKept = drawnPart(drawn, part) >= of.threshold();
    words[count > 32 ? m : 0] |= isKept << at % 32;
  }
};

/// Makes products with a softcap scores, but for masks. Its tanh is
/// 1 - 2 / (1 + e^2x): the error is one of 1, which is what counts of a score.
template <int rowTiles, int columns>
SHARDC_INLINE void cap(const AttentionParameters &a,
                       float (&products)[rowTiles][columns][4]) {
  if (a.narrowCap != 0)
    forElements<rowTiles, columns>([&](int m, int n, int i) {
      float power = binaryPower(products[m][n][i] * a.capExponent);
      float rest = quotientOfTwoUlp(1, 1 + power);
      products[m][n][i] = fused(a.narrowCap, -rest - rest, a.narrowCap);
    });
}

/// Makes products scores, but for masks: scale * product + bias. Rows are
/// queries, or where isTransposed keys.
template <bool isTransposed, typename S, int rowTiles, int columns>
SHARDC_INLINE void scaleAndBias(const ScoresOfHead<S> &of, float scale,
                                int firstRow, int firstColumn,
                                float (&products)[rowTiles][columns][4]) {
  forElements<rowTiles, columns>(
      [&](int m, int n, int i) { products[m][n][i] *= scale; });
  if (of.bias && of.isWide)
    addBias<isTransposed, float>(of, firstRow, firstColumn, products);
  else if (of.bias)
    addBias<isTransposed, S>(of, firstRow, firstColumn, products);
}

/// Whether queries [row, row + rows) see keys [first, first + step), as far as
/// positions say; where there are so many keys.
template <int rows, int step, typename S>
SHARDC_INLINE bool allSee(const ScoresOfHead<S> &of, int row, int first) {
  int behind = first - row - of.before;
  return behind >= rows - 1 && behind + step <= int(of.span);
}

/// Rows are queries: keys that they do not see, and those that are masked, get
/// -inf.
template <typename S, int rowTiles, int columns>
SHARDC_INLINE void hideKeys(const ScoresOfHead<S> &of, int firstRow,
                            int firstColumn,
                            float (&scores)[rowTiles][columns][4]) {
#pragma unroll
  for (int n = 0; n < columns; ++n)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int key = firstColumn + columnOfLane(n, i);
      bool isHidden =
          key >= of.keys ||
          (of.mask && !of.mask[least(key, of.keys - 1) * of.maskColumn]);
#pragma unroll
      for (int m = 0; m < rowTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if (isHidden || !of.sees(firstRow + rowOfLane(m, half), key))
            scores[m][n][2 * half + i] = -infinity<float>;
    }
}

} // namespace shardc::runtime::cuda

#endif

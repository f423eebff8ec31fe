// What the attention kernels with matrix units share: where a block is, and how
// tiles of products become scores.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIX_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONMATRIX_H

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

/// Makes products scores, but for masks: scale * product + bias. Rows are
/// queries, or where isTransposed keys.
template <bool isTransposed, typename S, int rowTiles, int columns>
SHARDC_INLINE void scaleAndBias(const ScoresOfHead<S> &of, int firstRow,
                                int firstColumn,
                                float (&products)[rowTiles][columns][4]) {
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float &product = products[m][n][i];
        product *= of.scale;
        if (of.bias) {
          int row = firstRow + rowOfLane(m, i / 2);
          int column = firstColumn + columnOfLane(n, i % 2);
          // What is no score is masked.
          int query = least(isTransposed ? column : row, of.queries - 1);
          int key = least(isTransposed ? row : column, of.keys - 1);
          product += of.biasAt(query, key);
        }
      }
}

/// Rows are queries: of row (m, half), columns are seen up to `ends`, but for
/// those whose key is masked.
template <typename S, int rowTiles, int columns>
SHARDC_INLINE void hideKeys(const ScoresOfHead<S> &of, int firstColumn,
                            const int (&ends)[rowTiles][2],
                            float (&scores)[rowTiles][columns][4]) {
#pragma unroll
  for (int n = 0; n < columns; ++n)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int key = firstColumn + columnOfLane(n, i);
      bool isHidden =
          of.mask && !of.mask[least(key, of.keys - 1) * of.maskColumn];
#pragma unroll
      for (int m = 0; m < rowTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if (isHidden || key >= ends[m][half])
            scores[m][n][2 * half + i] = -infinity<float>;
    }
}

} // namespace shardc::runtime::cuda

#endif

// What the attention kernels without matrix units share. A block has 16 x 16
// threads: thread (y, x) has rows y and y + 16 of its tile of 32, and every 16th
// column from x on, so that 16 neighbouring threads hold a row.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTILES_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONTILES_H

#include "runtime/cuda/kernels/AttentionDropped.h"

#define SHARDC_TILE_KERNEL                                                     \
  SHARDC_KERNEL __attribute__((launch_bounds(attentionThreads, 1)))

namespace shardc::runtime::cuda {

/// Columns of scores in a tile, dims of one step of their product, and rows of
/// one step of what scores are multiplied with.
inline constexpr int tileColumns = 64, tileDepth = 32, stepRows = 16;
inline constexpr int rowsOfThread = attentionRows / 16,
                     scoresOfThread = tileColumns / 16,
                     columnsOfThread = attentionColumns / 16;

/// A block's shared memory; the odd widths spread columns over its banks.
template <typename T> struct Tiles {
  T left[attentionRows][tileDepth + 1];
  union {
    T right[tileColumns][tileDepth + 1];
    T values[stepRows][attentionColumns];
  };
  T weights[attentionRows][tileColumns + 1];
};
template <typename T> SHARDC_INLINE Tiles<T> &sharedTiles() {
  SHARDC_SHARED Tiles<T> tiles;
  return tiles;
}

/// What a block of the grid does: rows [first, first + attentionRows) and columns
/// [column, column + attentionColumns) of one head. The later rows come first:
/// where there is a causal mask, they are the longest.
struct TileOfHead {
  int first, column, head, batch;

  SHARDC_INLINE TileOfHead(int rows, int columns, Count heads) {
    Count index = blockOfGrid();
    Count parts = (columns + attentionColumns - 1) / attentionColumns;
    Count tiles = (rows + attentionRows - 1) / attentionRows;
    column = index % parts * attentionColumns;
    index /= parts;
    first = (tiles - 1 - index % tiles) * attentionRows;
    index /= tiles;
    head = index % heads;
    batch = index / heads;
  }
};

SHARDC_INLINE int columnOfThread() { return threadOfBlock() % 16; }
SHARDC_INLINE int rowOfThread() { return threadOfBlock() / 16; }

template <typename T> using Scores = T[rowsOfThread][scoresOfThread];
template <typename T> using Sums = T[rowsOfThread][columnsOfThread];

/// A tile of `rows` rows from `first` on, of tileDepth columns from `column` on;
/// zeros where there is nothing.
template <int rows, typename S, typename T>
SHARDC_INLINE void loadTile(const HeadRows<S> &from, int first, int column,
                            T (&to)[rows][tileDepth + 1]) {
  int at = column + threadOfBlock() % tileDepth;
  for (int row = threadOfBlock() / tileDepth; row < rows;
       row += attentionThreads / tileDepth) {
    bool isThere = first + row < from.rows && at < from.columns;
    to[row][threadOfBlock() % tileDepth] =
        isThere ? computed(from.data[Count(first + row) * from.stride + at])
                : T(0);
  }
}

/// products[i][j] = left row * right row, over their columns, for the thread's
/// rows and columns. All that was in shared memory but the weights is lost.
template <typename S, typename T>
SHARDC_INLINE void multiply(Tiles<T> &tiles, const HeadRows<S> &left,
                            int firstLeft, const HeadRows<S> &right,
                            int firstRight, Scores<T> &products) {
  for (auto &row : products)
    for (T &product : row)
      product = 0;
  for (int column = 0; column < left.columns; column += tileDepth) {
    barrier();
    loadTile(left, firstLeft, column, tiles.left);
    loadTile(right, firstRight, column, tiles.right);
    barrier();
#pragma clang loop unroll_count(4)
    for (int d = 0; d < tileDepth; ++d)
#pragma unroll
      for (int i = 0; i < rowsOfThread; ++i)
#pragma unroll
        for (int j = 0; j < scoresOfThread; ++j)
          products[i][j] =
              fused(tiles.left[rowOfThread() + 16 * i][d],
                    tiles.right[columnOfThread() + 16 * j][d], products[i][j]);
  }
}

/// Makes the thread's scores the block's weights.
template <typename T>
SHARDC_INLINE void shareWeights(Tiles<T> &tiles, const Scores<T> &weights) {
  barrier();
  for (int i = 0; i < rowsOfThread; ++i)
    for (int j = 0; j < scoresOfThread; ++j)
      tiles.weights[rowOfThread() + 16 * i][columnOfThread() + 16 * j] =
          weights[i][j];
}

/// Half of the thread's columns, from `begin` on, of one step.
template <int begin, typename T>
SHARDC_INLINE void addStep(const Tiles<T> &tiles, int step, Sums<T> &sums) {
#pragma clang loop unroll_count(4)
  for (int k = 0; k < stepRows; ++k)
#pragma unroll
    for (int c = begin; c < begin + columnsOfThread / 2; ++c)
#pragma unroll
      for (int i = 0; i < rowsOfThread; ++i)
        sums[i][c] =
            fused(tiles.weights[rowOfThread() + 16 * i][step + k],
                  tiles.values[k][columnOfThread() + 16 * c], sums[i][c]);
}

/// sums += weights * the rows of `from` that begin with `first`, of its columns
/// from `firstColumn` on.
template <typename S, typename T>
SHARDC_INLINE void addWeighted(Tiles<T> &tiles, const HeadRows<S> &from,
                               int first, int firstColumn, Sums<T> &sums) {
  int width = from.columns - firstColumn;
#pragma clang loop unroll(disable)
  for (int step = 0; step < tileColumns; step += stepRows) {
    if (first + step >= from.rows)
      return;
    barrier();
    for (int at = threadOfBlock(); at < stepRows * attentionColumns;
         at += attentionThreads) {
      int row = at / attentionColumns, column = at % attentionColumns;
      int position = first + step + row;
      bool isThere = position < from.rows && column < width;
      tiles.values[row][column] =
          isThere ? computed(from.data[Count(position) * from.stride +
                                       firstColumn + column])
                  : T(0);
    }
    barrier();
    addStep<0>(tiles, step, sums);
    if (width > attentionColumns / 2)
      addStep<columnsOfThread / 2>(tiles, step, sums);
  }
}

/// Writes the thread's part of rows from `first` on.
template <typename S, typename T>
SHARDC_INLINE void storeRows(const HeadRows<S> &to, int first, int firstColumn,
                             const Sums<T> &sums) {
#pragma unroll
  for (int i = 0; i < rowsOfThread; ++i) {
    int row = first + rowOfThread() + 16 * i;
    if (row >= to.rows)
      continue;
#pragma unroll
    for (int c = 0; c < columnsOfThread; ++c) {
      int column = firstColumn + columnOfThread() + 16 * c;
      if (column < to.columns)
        store(sums[i][c], to.data[Count(row) * to.stride + column]);
    }
  }
}

/// The largest, and the sum, of what the 16 threads of a row have.
template <typename T> SHARDC_INLINE T largestOfRow(T value) {
  for (int distance = 8; distance; distance /= 2) {
    T other = exchanged(value, distance);
    value = other > value ? other : value;
  }
  return value;
}
template <typename T> SHARDC_INLINE T sumOfRow(T value) {
  for (int distance = 8; distance; distance /= 2)
    value += exchanged(value, distance);
  return value;
}

/// The running maximum and sum of exponentials of the thread's rows (Milakov,
/// Gimelshein, arXiv:1805.02867).
template <typename T> struct RunningRows {
  T maximum[rowsOfThread], sum[rowsOfThread];

  /// A sink is a score that comes first.
  SHARDC_INLINE explicit RunningRows(T sink) {
    for (int i = 0; i < rowsOfThread; ++i)
      maximum[i] = sink, sum[i] = sink > -infinity<T>;
  }
  /// Takes a tile's scores and makes them exp(score - maximum). Returns what
  /// earlier sums have to be multiplied with in factors.
  SHARDC_INLINE void take(Scores<T> &scores, T (&factors)[rowsOfThread]) {
    const T minusInfinity = -infinity<T>;
    for (int i = 0; i < rowsOfThread; ++i) {
      T most = scores[i][0];
      for (int j = 1; j < scoresOfThread; ++j)
        most = scores[i][j] > most ? scores[i][j] : most;
      most = largestOfRow(most);
      most = most > maximum[i] ? most : maximum[i];
      factors[i] =
          maximum[i] == minusInfinity ? T(0) : exponential(maximum[i] - most);
      T part = 0;
      for (int j = 0; j < scoresOfThread; ++j) {
        T &score = scores[i][j];
        score = score == minusInfinity ? T(0) : exponential(score - most);
        part += score;
      }
      sum[i] = fused(sum[i], factors[i], sumOfRow(part));
      maximum[i] = most;
    }
  }
};

/// Makes products the scores of the thread's rows, which are queries, and
/// columns.
template <typename S, typename T>
SHARDC_INLINE void toScores(const ScoresOfHead<S> &of, int firstRow,
                            int firstColumn, Scores<T> &products) {
  for (int i = 0; i < rowsOfThread; ++i)
    for (int j = 0; j < scoresOfThread; ++j) {
      T unused;
      products[i][j] =
          of.score(products[i][j], firstRow + rowOfThread() + 16 * i,
                   firstColumn + columnOfThread() + 16 * j, unused);
    }
}

/// Which of the thread's probabilities are kept: bit scoresOfThread i + j is of
/// row i and column j.
struct KeptOfThread {
  unsigned bits = ~0u;

  SHARDC_INLINE bool operator()(int i, int j) const {
    return bits >> (scoresOfThread * i + j) & 1;
  }
  /// Others become 0; `scale`: of those that are kept.
  template <typename T>
  SHARDC_INLINE T of(T value, int i, int j, T scale) const {
    return (*this)(i, j) ? value * scale : T(0);
  }
  /// Rows are queries of a head, columns are keys. A draw has every second of the
  /// thread's columns.
  SHARDC_INLINE void drawKeys(const AttentionParameters &a, int batch, int head,
                              int firstRow, int firstColumn) {
    bits = 0;
    Count before = (Count(batch) * a.heads + head) * a.queries;
#pragma clang loop unroll(disable)
    for (int at = 0; at < rowsOfThread * scoresOfThread; at += 2) {
      int i = at / scoresOfThread, j = at % scoresOfThread;
      DrawnRow row(a, before + firstRow + rowOfThread() + 16 * i);
      take(row, firstColumn + columnOfThread() + 16 * j, at, at + 1);
    }
  }
  /// Rows are keys, columns are queries of a head. A draw has both rows.
  SHARDC_INLINE void drawRows(const AttentionParameters &a, int batch, int head,
                              int firstRow, int firstColumn) {
    bits = 0;
    Count before = (Count(batch) * a.heads + head) * a.queries;
#pragma clang loop unroll(disable)
    for (int j = 0; j < scoresOfThread; ++j) {
      DrawnRow row(a, before + firstColumn + columnOfThread() + 16 * j);
      take(row, firstRow + rowOfThread(), j, j + scoresOfThread);
    }
  }

private:
  /// Of key `key` and the one 16 further on.
  SHARDC_INLINE void take(const DrawnRow &row, int key, int bit, int next) {
    static_assert(rowsOfThread == 2);
    TwoWords<Bits32> drawn = row.draw(key);
    unsigned part = partOfKey(unsigned(key));
    bits |= unsigned(drawnPart(drawn, part) >= row.threshold()) << bit |
            unsigned(drawnPart(drawn, part + 2) >= row.threshold()) << next;
  }
};

} // namespace shardc::runtime::cuda

#endif

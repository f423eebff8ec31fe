// Reads at positions known at run time, and running sums, which are added in the
// processor's order, so that bits are its own.
#include "runtime/cuda/kernels/Indices.h"
#include "runtime/cuda/kernels/Sums.h"

namespace shardc::runtime::cuda {

template <typename T> SHARDC_DEVICE void gather(const GatherParameters &with) {
  auto *data = reinterpret_cast<const T *>(with.data);
  auto *result = reinterpret_cast<T *>(with.result);
  auto step = unsigned(threadsOfGrid());
  for (auto i = unsigned(firstElement()); i < with.units; i += step) {
    unsigned row = quotient(i, with.width);
    unsigned column = i - row * with.width.number;
    row += with.firstRow;
    unsigned outer = quotient(row, with.count);
    Count index = checkedIndex(with.indices, row - outer * with.count.number,
                               with.size, with.wraps);
    if (index < 0)
      continue;
    result[row * with.resultStride + column] =
        data[outer * with.outerStride + index * with.rowStride + column];
  }
}

template <typename T>
SHARDC_DEVICE void gatherNd(const GatherNdParameters &with) {
  auto *data = reinterpret_cast<const T *>(with.data);
  auto *result = reinterpret_cast<T *>(with.result);
  auto step = unsigned(threadsOfGrid());
  for (auto i = unsigned(firstElement()); i < with.units; i += step) {
    unsigned row = quotient(i, with.width);
    unsigned column = i - row * with.width.number;
    row += with.firstRow;
    Count from = quotient(row, with.tuples);
    bool isRow = true;
    for (int part = 0; part < int(with.depth); ++part) {
      Count index =
          checkedIndex(with.indices, unsigned(row * with.depth + part),
                       with.sizes[part], true);
      isRow &= index >= 0;
      from = from * with.sizes[part] + index;
    }
    if (!isRow)
      continue;
    result[Count(row) * with.width.number + column] =
        data[from * with.width.number + column];
  }
}

#define SHARDC_GATHERS(bytes, T)                                               \
  SHARDC_KERNEL void gather##bytes(GatherParameters with) { gather<T>(with); } \
  SHARDC_KERNEL void gather_nd##bytes(GatherNdParameters with) {               \
    gatherNd<T>(with);                                                         \
  }
SHARDC_GATHERS(1, unsigned char)
SHARDC_GATHERS(2, unsigned short)
SHARDC_GATHERS(4, unsigned int)
SHARDC_GATHERS(8, unsigned long long)
SHARDC_GATHERS(16, Vector)

template <typename T> SHARDC_DEVICE void cumsum(const CumsumParameters &with) {
  auto *input = reinterpret_cast<const T *>(with.input);
  auto *result = reinterpret_cast<T *>(with.result);
  Count step = threadsOfGrid();
  for (Count line = firstElement(); line < with.lines; line += step) {
    Count at = line / with.inner * with.size * with.inner + line % with.inner;
    Count by = with.inner;
    if (with.reverse) {
      at += (with.size - 1) * with.inner;
      by = -by;
    }
    SumOf<T> sum = 0;
    // Loads do not wait for the sums before them.
    constexpr int ahead = 8;
    for (Count first = 0; first < with.size; first += ahead, at += ahead * by) {
      SumOf<T> values[ahead];
#pragma unroll
      for (int i = 0; i < ahead; ++i)
        values[i] =
            first + i < with.size ? summand(input[at + i * by]) : SumOf<T>(0);
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (first + i >= with.size)
          continue;
        if (with.exclusive)
          store(sum, result[at + i * by]);
        sum += values[i];
        if (!with.exclusive)
          store(sum, result[at + i * by]);
      }
    }
  }
}

template <typename T>
static SHARDC_DEVICE void cumsumRows(const CumsumParameters &with) {
  using Sum = SumOf<T>;
  // Lines begin in different banks.
  SHARDC_SHARED Sum tile[cumsumTile + mostLines];
  SHARDC_SHARED Sum sums[mostLines];
  auto *input = reinterpret_cast<const T *>(with.input);
  auto *result = reinterpret_cast<T *>(with.result);
  unsigned columns = cumsumTile / with.linesPerBlock;
  Count step = Count(blocksOfGrid()) * with.linesPerBlock;
  for (Count first = Count(blockOfGrid()) * with.linesPerBlock;
       first < with.lines; first += step)
    for (Count begin = 0; begin < with.size; begin += columns) {
      Count left = with.size - begin;
      unsigned count = left < columns ? unsigned(left) : columns;
      // Calls visit(an element of the tile, its place in memory).
      auto forElements = [&](const auto &visit) {
        for (unsigned i = threadOfBlock(); i < cumsumTile; i += blockThreads) {
          unsigned line = i / columns, column = i % columns;
          Count at = begin + column;
          if (first + line < with.lines && column < count)
            visit(tile[line * (columns + 1) + column],
                  (first + line) * with.size +
                      (with.reverse ? with.size - 1 - at : at));
        }
      };
      forElements([&](Sum &to, Count at) { to = summand(input[at]); });
      barrier();
      for (unsigned line = threadOfBlock(); line < with.linesPerBlock;
           line += blockThreads) {
        Sum sum = begin ? sums[line] : Sum(0);
        Sum *at = tile + line * (columns + 1);
        // Loads do not wait for the sums before them. Zeros behind the end are in
        // no sum that is kept.
        constexpr unsigned ahead = 8;
        for (unsigned column = 0; column < count; column += ahead) {
          Sum values[ahead];
#pragma unroll
          for (unsigned i = 0; i < ahead; ++i)
            values[i] = column + i < count ? at[column + i] : Sum(0);
#pragma unroll
          for (unsigned i = 0; i < ahead; ++i) {
            Sum next = sum + values[i];
            if (column + i < count)
              at[column + i] = with.exclusive ? sum : next;
            sum = next;
          }
        }
        sums[line] = sum;
      }
      barrier();
      forElements([&](Sum &from, Count at) { store(from, result[at]); });
      barrier();
    }
}

#define SHARDC_CUMSUM(name, T)                                                 \
  SHARDC_KERNEL void cumsum_##name(CumsumParameters with) { cumsum<T>(with); } \
  SHARDC_KERNEL void cumsum_rows_##name(CumsumParameters with) {               \
    cumsumRows<T>(with);                                                       \
  }
SHARDC_CUMSUM(f64, double)
SHARDC_CUMSUM(f32, float)
SHARDC_CUMSUM(bf16, Bf16)
SHARDC_CUMSUM(f16, F16)
SHARDC_CUMSUM(i64, Count)
SHARDC_CUMSUM(i32, int)

} // namespace shardc::runtime::cuda

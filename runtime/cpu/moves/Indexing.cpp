// Embedding tables, gather and running sums.
#include "runtime/cpu/moves/Indexing.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/Integers.h"
#include "runtime/device/DataErrors.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace shardc::runtime::cpu {

static void checkIds(const Integers &ids, const FirstWrong &wrong,
                     int64_t rows) {
  if (wrong.any())
    fail(wrongId(ids[wrong.position()], wrong.position(), rows));
}

void embedding(const Tensor &table, const Tensor &idTensor,
               const Tensor &output, ThreadPool &pool) {
  Integers ids(idTensor);
  FirstWrong wrong;
  int64_t width = table.shape[1], element = elementSize(table.dtype);
  Rows rows = *foldRows(output, 1);
  int64_t grain = (64 << 10) / std::max<int64_t>(1, width * element) + 1;
  pool.forRanges(ids.size(), grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t id = ids[i];
      if (id < 0 || id >= table.shape[0])
        wrong.note(i);
      else
        std::memcpy(output.data + i * rows.stride * element,
                    table.data + id * table.strides[0] * element,
                    width * element);
    }
  });
  checkIds(ids, wrong, table.shape[0]);
}

/// Computes sums[0, count) += a row of gradients, of the same type or of 16
/// bits.
template <typename T, typename S>
static void addRow(T *sums, const S *row, int64_t count) {
  if constexpr (std::is_same_v<T, S>) {
    simd::loops<T>().add(sums, row, count);
  } else {
    constexpr int64_t most = 512;
    T wide[most];
    for (int64_t i = 0; i < count; i += most) {
      int64_t part = std::min(most, count - i);
      widenRow(row + i, wide, part);
      simd::loops<T>().add(sums + i, wide, part);
    }
  }
}

/// So many rows are worth a thread of their own.
static int64_t grainOf(const Tensor &table) {
  return (64 << 10) / std::max<int64_t>(1, table.shape[1]) + 1;
}

template <typename T> static void clear(const Tensor &table, ThreadPool &pool) {
  pool.forRanges(table.shape[0], grainOf(table),
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t row = begin; row < end; ++row)
                     std::fill_n(table.as<T>() + row * table.strides[0],
                                 table.shape[1], T(0));
                 });
}

/// Adds to a table of the type that sums have.
template <typename S>
static void addRows(const Tensor &gradient, const Tensor &idTensor,
                    const Tensor &table, ThreadPool &pool, bool accumulate) {
  using T = ComputeOf<S>;
  Integers ids(idTensor);
  FirstWrong wrong;
  int64_t rows = table.shape[0], width = table.shape[1];
  Rows from = *foldRows(gradient, 1);
  if (!accumulate)
    clear<T>(table, pool);
  // Threads share the columns: each adds all ids in their order, however many
  // threads there are.
  constexpr int64_t group = 64 / sizeof(T);
  pool.forRanges(
      (width + group - 1) / group, 4, [&](int64_t begin, int64_t end, int) {
        int64_t first = begin * group;
        int64_t count = std::min(width, end * group) - first;
        for (int64_t i = 0; i < ids.size(); ++i) {
          int64_t id = ids[i];
          if (id < 0 || id >= rows)
            wrong.note(i);
          else
            addRow(table.as<T>() + id * table.strides[0] + first,
                   gradient.as<S>() + i * from.stride + first, count);
        }
      });
  checkIds(ids, wrong, rows);
}

/// Of the positions [first, last): those of each id, in their order.
struct PositionsById {
  PositionsById(const Integers &ids, int64_t first, int64_t last, int64_t rows)
      : begin(rows + 1) {
    FirstWrong wrong;
    for (int64_t i = first; i < last; ++i)
      if (ids[i] < 0 || ids[i] >= rows)
        wrong.note(i);
      else
        ++begin[ids[i] + 1];
    checkIds(ids, wrong, rows);
    for (int64_t row = 0; row < rows; ++row)
      begin[row + 1] += begin[row];
    positions.resize(last - first);
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t i = first; i < last; ++i)
      positions[next[ids[i]]++] = i;
  }
  std::vector<int64_t> begin, positions;
};

/// Adds to a table of 16 bits: a row is summed in float32 as a whole, and
/// rounded once.
template <typename S>
static void addRowsRounded(const Tensor &gradient, const Tensor &idTensor,
                           const Tensor &table, ThreadPool &pool,
                           bool accumulate) {
  Integers ids(idTensor);
  int64_t rows = table.shape[0], width = table.shape[1];
  PositionsById by(ids, 0, ids.size(), rows);
  Rows from = *foldRows(gradient, 1);
  pool.forRanges(rows, grainOf(table), [&](int64_t begin, int64_t end, int) {
    constexpr int64_t most = 512;
    float sums[most];
    for (int64_t row = begin; row < end; ++row)
      for (int64_t first = 0; first < width; first += most) {
        int64_t count = std::min(most, width - first);
        std::fill_n(sums, count, 0.0f);
        if (accumulate)
          addRow(sums, table.as<S>() + row * table.strides[0] + first, count);
        for (int64_t i = by.begin[row]; i < by.begin[row + 1]; ++i)
          addRow(sums, gradient.as<S>() + by.positions[i] * from.stride + first,
                 count);
        roundRow(sums, table.as<S>() + row * table.strides[0] + first, count);
      }
  });
}

void embeddingGradOfParts(const Tensor &gradient, const Tensor &idTensor,
                          int64_t parts, const Tensor &table, ThreadPool &pool,
                          bool accumulate) {
  Integers ids(idTensor);
  int64_t rows = table.shape[0], width = table.shape[1];
  int64_t positions = ids.size() / parts;
  Rows from = *foldRows(gradient, 1);
  withFloat(gradient.dtype, [&]<typename S>(S) {
    using T = ComputeOf<S>;
    if (!accumulate)
      clear<T>(table, pool);
    for (int64_t part = 0; part < parts; ++part) {
      PositionsById by(ids, part * positions, (part + 1) * positions, rows);
      pool.forRanges(
          rows, grainOf(table), [&](int64_t begin, int64_t end, int) {
            constexpr int64_t most = 512;
            T sums[most];
            for (int64_t row = begin; row < end; ++row)
              for (int64_t first = 0;
                   first < width && by.begin[row] < by.begin[row + 1];
                   first += most) {
                int64_t count = std::min(most, width - first);
                std::fill_n(sums, count, T(0));
                for (int64_t i = by.begin[row]; i < by.begin[row + 1]; ++i)
                  addRow(sums,
                         gradient.as<S>() + by.positions[i] * from.stride +
                             first,
                         count);
                simd::loops<T>().add(table.as<T>() + row * table.strides[0] +
                                         first,
                                     sums, count);
              }
          });
    }
  });
}

void embeddingGrad(const Tensor &gradient, const Tensor &ids,
                   const Tensor &tableGradient, ThreadPool &pool,
                   bool accumulate) {
  withFloat(gradient.dtype, [&]<typename S>(S) {
    if constexpr (isHalfType<S>) {
      if (isHalf(tableGradient.dtype))
        return addRowsRounded<S>(gradient, ids, tableGradient, pool,
                                 accumulate);
    }
    addRows<S>(gradient, ids, tableGradient, pool, accumulate);
  });
}

/// The number of elements before, at and after a dim of a row-major tensor.
struct Split {
  Split(const std::vector<int64_t> &shape, int64_t axis) : axis(shape[axis]) {
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
      (dim < axis ? outer : inner) *= dim == axis ? 1 : shape[dim];
  }
  int64_t outer = 1, axis, inner = 1;
};

template <typename S>
static void cumsumOf(const Tensor &input, const Tensor &result, int64_t axis,
                     bool exclusive, bool reverse) {
  Split split(input.shape, axis);
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      int64_t base = outer * split.axis * split.inner + inner;
      ComputeOf<S> total = 0;
      for (int64_t step = 0; step < split.axis; ++step) {
        int64_t i = reverse ? split.axis - 1 - step : step;
        ComputeOf<S> value = widened(input.as<S>()[base + i * split.inner]);
        S *to = result.as<S>() + base + i * split.inner;
        if (exclusive)
          *to = rounded<S>(total);
        total += value;
        if (!exclusive)
          *to = rounded<S>(total);
      }
    }
}

void cumsum(const Tensor &input, const Tensor &result, int64_t axis,
            bool exclusive, bool reverse) {
  auto run = [&]<typename S>(S) {
    cumsumOf<S>(input, result, axis, exclusive, reverse);
  };
  if (isFloat(input.dtype))
    return withFloat(input.dtype, run);
  switch (input.dtype) {
  case plan::INT64:
    return run(int64_t());
  case plan::INT32:
    return run(int32_t());
  default:
    fail("cumsum of ", dtypeName(input.dtype), " is not supported");
  }
}

/// Returns an index into an axis of `size`; negative ones count from the end.
static int64_t checkedIndex(const Integers &indices, int64_t position,
                            int64_t size) {
  int64_t index = indices[position];
  if (index < -size || index >= size)
    fail(wrongIndex(index, position, size));
  return index < 0 ? index + size : index;
}

void gather(const Tensor &data, const Tensor &indexTensor, const Tensor &result,
            int64_t axis) {
  Integers indices(indexTensor);
  Split split(data.shape, axis);
  int64_t run = split.inner * elementSize(data.dtype);
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t i = 0; i < indices.size(); ++i)
      std::memcpy(
          result.data + (outer * indices.size() + i) * run,
          data.data +
              (outer * split.axis + checkedIndex(indices, i, split.axis)) * run,
          run);
}

template <typename S>
static void addSlices(const Tensor &gradient, const Integers &indices,
                      const Tensor &result, int64_t axis) {
  using T = ComputeOf<S>;
  Split split(result.shape, axis);
  // Elements of 16 bits are summed in float32 and rounded once.
  std::vector<T> wide(isHalf(result.dtype) ? result.elements() : 0);
  T *sums = isHalf(result.dtype) ? wide.data() : result.as<T>();
  std::fill_n(sums, result.elements(), T(0));
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t i = 0; i < indices.size(); ++i)
      addRow(sums +
                 (outer * split.axis + checkedIndex(indices, i, split.axis)) *
                     split.inner,
             gradient.as<S>() + (outer * indices.size() + i) * split.inner,
             split.inner);
  if (isHalf(result.dtype))
    roundRow(sums, result.as<S>(), result.elements());
}

void gatherGrad(const Tensor &gradient, const Tensor &indexTensor,
                const Tensor &result, int64_t axis) {
  Integers indices(indexTensor);
  withFloat(gradient.dtype, [&]<typename S>(S) {
    addSlices<S>(gradient, indices, result, axis);
  });
}

void gatherNd(const Tensor &data, const Tensor &indexTensor,
              const Tensor &result, int64_t batchDims) {
  Integers indices(indexTensor);
  int64_t depth = indexTensor.shape.back();
  int64_t tuples = depth ? indices.size() / depth : 0;
  int64_t batches = 1, run = elementSize(data.dtype);
  for (int64_t dim = 0; dim < batchDims; ++dim)
    batches *= data.shape[dim];
  for (int64_t dim = batchDims + depth; dim < data.rank(); ++dim)
    run *= data.shape[dim];
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t position = tuple / std::max<int64_t>(1, tuples / batches);
    for (int64_t part = 0; part < depth; ++part) {
      int64_t size = data.shape[batchDims + part];
      position =
          position * size + checkedIndex(indices, tuple * depth + part, size);
    }
    std::memcpy(result.data + tuple * run, data.data + position * run, run);
  }
}

} // namespace shardc::runtime::cpu

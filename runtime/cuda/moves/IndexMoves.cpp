// Embeddings, gathers, running sums and the largest of rows, and the gradients
// of the first two.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/kernels/IndexingParameters.h"
#include "runtime/cuda/kernels/TopKParameters.h"
#include "runtime/cuda/moves/Moves.h"
#include "runtime/cuda/moves/Views.h"
#include "runtime/device/DataErrors.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace shardc::runtime::cuda {

static int64_t product(const std::vector<int64_t> &sizes, int64_t begin,
                       int64_t end) {
  int64_t result = 1;
  for (int64_t i = begin; i < end; ++i)
    result *= sizes[i];
  return result;
}
static int64_t divided(int64_t size, int64_t by) {
  return (size + by - 1) / by;
}
static std::string named(const char *kernel, int64_t unit) {
  return kernel + std::to_string(unit);
}
static std::string named(const char *kernel, plan::DType dtype) {
  static constexpr std::pair<plan::DType, const char *> names[] = {
      {plan::FLOAT64, "f64"}, {plan::FLOAT32, "f32"}, {plan::BFLOAT16, "bf16"},
      {plan::FLOAT16, "f16"}, {plan::INT64, "i64"},   {plan::INT32, "i32"},
      {plan::INT16, "i16"},   {plan::INT8, "i8"},     {plan::UINT64, "u64"},
      {plan::UINT32, "u32"},  {plan::UINT16, "u16"},  {plan::UINT8, "u8"}};
  for (auto [type, name] : names)
    if (type == dtype)
      return std::string(kernel) + "_" + name;
  fail("CUDA's kernels have no ", kernel, " of ", dtypeName(dtype));
}
/// Numbers of rows and positions, which kernels divide in 32 bits.
static void requireBelow(int64_t number, int64_t limit, const char *what,
                         const Tensor &of) {
  if (number >= limit)
    fail("CUDA's kernels take fewer than ", limit, " ", what, ", got ", number,
         " of ", of.describe(), ": use more ranks or smaller batches");
}

using FaultText = std::function<std::string(int64_t position, int64_t value)>;

static FaultText idFault(int64_t rows) {
  return [rows](int64_t position, int64_t id) {
    return wrongId(id, position, rows);
  };
}
/// Of indices in turns into axes of these sizes.
static FaultText indexFault(std::vector<int64_t> sizes) {
  return [sizes = std::move(sizes)](int64_t position, int64_t index) {
    return wrongIndex(index, position, sizes[position % std::ssize(sizes)]);
  };
}

template <typename Parameters>
static KernelMove faultyMove(const char *file, std::string kernel,
                             int64_t threads, const Parameters &with,
                             const FaultText &text) {
  KernelMove move = kernelMove(file, std::move(kernel), threads, with);
  move.fault = offsetof(Parameters, indices) + offsetof(Indices, fault);
  move.faultText = text;
  return move;
}

static Indices indicesOf(const Tensor &tensor) {
  requireBelow(tensor.elements(), indexLimit, "indices", tensor);
  Indices indices{};
  indices.data = address(tensor.data);
  indices.isWide = tensor.dtype == plan::INT64;
  if (tensor.contiguous())
    return indices;
  for (int64_t dim = 0; dim < tensor.rank(); ++dim) {
    if (tensor.shape[dim] == 1)
      continue;
    if (indices.rank == mostDims)
      fail("CUDA's kernels take indices of up to ", mostDims,
           " dims that are not contiguous, got ", tensor.describe());
    indices.dims[indices.rank++] = {divisorOf(tensor.shape[dim]),
                                    tensor.strides[dim]};
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Calls take(first row, rows, units) for parts of rows of `width` units.
template <typename Take>
static void inRows(int64_t rows, int64_t width, const Take &take) {
  int64_t most = (indexLimit - 1) / width;
  for (int64_t row = 0; row < rows; row += most) {
    int64_t count = std::min(most, rows - row);
    take(unsigned(row), unsigned(count * width));
  }
}

/// Strides and widths in bytes.
struct RowReads {
  const std::byte *data;
  std::byte *result;
  int64_t width, outerStride, rowStride, resultStride;
  int64_t outers, size;
};

static std::vector<Move> gatherMoves(const RowReads &reads,
                                     const Tensor &indices, bool wraps,
                                     const FaultText &text) {
  std::vector<Move> moves;
  int64_t count = indices.elements(), rows = reads.outers * count;
  if (rows == 0 || reads.width == 0)
    return moves;
  requireBelow(rows, indexLimit, "rows", indices);
  int64_t unit = commonUnit(
      {addressBytes(reads.data), addressBytes(reads.result), reads.width,
       reads.outerStride, reads.rowStride, reads.resultStride});
  GatherParameters with{};
  with.data = address(reads.data), with.result = address(reads.result);
  with.indices = indicesOf(indices);
  with.width = divisorOf(reads.width / unit), with.count = divisorOf(count);
  with.outerStride = reads.outerStride / unit;
  with.rowStride = reads.rowStride / unit;
  with.resultStride = reads.resultStride / unit;
  with.size = reads.size, with.wraps = wraps;
  inRows(rows, reads.width / unit, [&](unsigned first, unsigned units) {
    with.firstRow = first, with.units = units;
    moves.push_back(
        faultyMove("Indexing", named("gather", unit), units, with, text));
  });
  return moves;
}

std::vector<Move> movesOf(const entry::Embedding &entry) {
  const Tensor &table = entry.table;
  auto element = int64_t(elementSize(table.dtype));
  RowReads reads{table.data,
                 entry.output.data,
                 table.shape[1] * element,
                 0,
                 table.strides[0] * element,
                 foldRows(entry.output, 1)->stride * element,
                 1,
                 table.shape[0]};
  return gatherMoves(reads, entry.ids, false, idFault(table.shape[0]));
}

static std::vector<Move> gather(const Tensor &data, const Tensor &indices,
                                const Tensor &result, int64_t axis) {
  int64_t row = product(data.shape, axis + 1, data.rank()) *
                int64_t(elementSize(data.dtype));
  RowReads reads{data.data,
                 result.data,
                 row,
                 row * data.shape[axis],
                 row,
                 row,
                 product(data.shape, 0, axis),
                 data.shape[axis]};
  return gatherMoves(reads, indices, true, indexFault({data.shape[axis]}));
}

static std::vector<Move> gatherNd(const Tensor &data, const Tensor &indices,
                                  const Tensor &result, int64_t batchDims) {
  std::vector<Move> moves;
  int64_t depth = indices.shape.back();
  int64_t rows = depth ? indices.elements() / depth : 0;
  int64_t batches = product(data.shape, 0, batchDims);
  int64_t width = product(data.shape, batchDims + depth, data.rank()) *
                  int64_t(elementSize(data.dtype));
  if (rows == 0 || width == 0)
    return moves;
  if (depth > mostDims)
    fail("CUDA's kernels take tuples of up to ", mostDims, " indices, got ",
         indices.describe());
  int64_t unit =
      commonUnit({addressBytes(data.data), addressBytes(result.data), width});
  GatherNdParameters with{};
  with.data = address(data.data), with.result = address(result.data);
  with.indices = indicesOf(indices);
  with.width = divisorOf(width / unit);
  with.tuples = divisorOf(std::max<int64_t>(1, rows / batches));
  with.depth = depth;
  for (int64_t part = 0; part < depth; ++part)
    with.sizes[part] = data.shape[batchDims + part];
  inRows(rows, width / unit, [&](unsigned first, unsigned units) {
    with.firstRow = first, with.units = units;
    moves.push_back(faultyMove("Indexing", named("gather_nd", unit), units,
                               with,
                               indexFault({with.sizes, with.sizes + depth})));
  });
  return moves;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Strides and widths in elements of each.
struct RowSums {
  int64_t width, outers, size;
  int64_t gradientStride, gradientOuter, tableStride, tableOuter;
};

static void addRows(const Tensor &gradient, const Tensor &table,
                    const FaultText &text, const Tensor &indices,
                    const RowSums &sums, RowStart start, bool wraps,
                    std::vector<Move> &moves) {
  int64_t positions = indices.elements();
  if (positions == 0 || sums.width == 0 || sums.outers == 0)
    return;
  requireBelow(positions, positionLimit, "indices", indices);
  requireBelow(sums.size, indexLimit, "rows", table);
  requireBelow(sums.width, indexLimit, "columns", table);
  AddRowsParameters with{};
  with.gradient = address(gradient.data), with.table = address(table.data);
  with.indices = indicesOf(indices);
  with.positions = unsigned(positions);
  int64_t chunks =
      divided(sums.width, rowColumns(table.dtype == plan::FLOAT64 ? 8 : 4));
  // Large groups look at fewer positions in all, small ones share the work of a
  // few positions among all multiprocessors.
  constexpr int64_t enoughBlocks = 2048, least = 16;
  int64_t perBlock = std::clamp<int64_t>(
      positions * chunks * sums.outers / enoughBlocks, least, mostPositions);
  int64_t groups = divided(positions, perBlock);
  int64_t blocks = sums.outers * groups * chunks;
  requireBelow(blocks, indexLimit, "blocks", table);
  with.perBlock = unsigned(perBlock), with.groups = unsigned(groups);
  with.chunks = unsigned(chunks), with.outers = unsigned(sums.outers);
  with.width = unsigned(sums.width), with.size = unsigned(sums.size);
  with.start = start, with.wraps = wraps;
  with.gradientStride = sums.gradientStride;
  with.gradientOuter = sums.gradientOuter;
  with.tableStride = sums.tableStride, with.tableOuter = sums.tableOuter;
  std::string of = named("add_rows", gradient.dtype);
  moves.push_back(faultyMove("AddRows", named(of.c_str(), table.dtype),
                             blocks * copyThreads, with, text));
}

std::vector<Move> movesOf(const entry::EmbeddingGrad &entry) {
  const Tensor &table = entry.tableGradient;
  std::vector<Move> moves;
  if (!entry.accumulate)
    moves = movesOf(entry::Fill{table, 0});
  RowSums sums{table.shape[1],
               1,
               table.shape[0],
               foldRows(entry.gradient, 1)->stride,
               0,
               table.strides[0],
               0};
  RowStart start = entry.parts > 1    ? RowStart::SumToRow
                   : entry.accumulate ? RowStart::Row
                                      : RowStart::Zero;
  int64_t positions = entry.ids.elements() / entry.parts;
  for (int64_t part = 0; part < entry.parts; ++part) {
    Tensor gradient = entry.gradient, ids = entry.ids;
    if (entry.parts > 1) {
      ids.shape = {positions}, ids.strides = {1};
      ids.data += part * positions * int64_t(elementSize(ids.dtype));
      gradient.data += part * positions * sums.gradientStride *
                       int64_t(elementSize(gradient.dtype));
    }
    addRows(gradient, table, idFault(table.shape[0]), ids, sums, start, false,
            moves);
  }
  return moves;
}

static std::vector<Move> gatherGrad(const Tensor &gradient,
                                    const Tensor &indices, const Tensor &result,
                                    int64_t axis) {
  std::vector<Move> moves = movesOf(entry::Fill{result, 0});
  int64_t inner = product(result.shape, axis + 1, result.rank());
  RowSums sums{inner,
               product(result.shape, 0, axis),
               result.shape[axis],
               inner,
               inner * indices.elements(),
               inner,
               inner * result.shape[axis]};
  addRows(gradient, result, indexFault({result.shape[axis]}), indices, sums,
          RowStart::Zero, true, moves);
  return moves;
}

static std::vector<Move> cumsum(const Tensor &input, const Tensor &result,
                                int64_t axis, bool exclusive, bool reverse) {
  std::vector<Move> moves;
  if (!isFloat(input.dtype) && input.dtype != plan::INT64 &&
      input.dtype != plan::INT32)
    fail("cumsum of ", dtypeName(input.dtype), " is not supported");
  if (input.elements() == 0)
    return moves;
  CumsumParameters with{};
  with.input = address(input.data), with.result = address(result.data);
  with.size = input.shape[axis];
  with.inner = product(input.shape, axis + 1, input.rank());
  with.lines = product(input.shape, 0, axis) * with.inner;
  with.exclusive = exclusive, with.reverse = reverse;
  if (with.inner > 1) {
    moves.push_back(
        kernelMove("Indexing", named("cumsum", input.dtype), with.lines, with));
    return moves;
  }
  // A line for each multiprocessor before any has two.
  constexpr int64_t multiprocessors = 128;
  with.linesPerBlock = unsigned(std::bit_floor(uint64_t(
      std::clamp<int64_t>(with.lines / multiprocessors, 1, mostLines))));
  moves.push_back(
      kernelMove("Indexing", named("cumsum_rows", input.dtype),
                 divided(with.lines, with.linesPerBlock) * copyThreads, with));
  return moves;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

std::vector<Move> movesOf(const entry::TopK &entry) {
  std::vector<Move> moves;
  const int64_t size = entry.input.shape.back(),
                kept = entry.values.shape.back();
  std::string select = named("select", entry.input.dtype);
  if (entry.values.elements() == 0)
    return moves;
  requireBelow(size, indexLimit, "elements of a row", entry.input);
  // Rows of a block have two elements for each of its threads, where they are
  // short.
  constexpr int64_t elements = 2 * copyThreads;
  TopKParameters with{};
  with.input = address(entry.input.data);
  with.values = address(entry.values.data);
  with.places = address(entry.indices.data);
  with.rows = entry.values.elements() / kept;
  with.size = unsigned(size), with.kept = unsigned(kept);
  with.rowsPerBlock = unsigned(std::max<int64_t>(1, elements / size));
  with.smallest = entry.smallest;
  if (size <= mostRanked)
    moves.push_back(
        kernelMove("TopK", named("rank", entry.input.dtype),
                   divided(with.rows, with.rowsPerBlock) * copyThreads, with));
  else
    moves.push_back(kernelMove("TopK", select, with.rows * copyThreads, with));
  return moves;
}

std::vector<Move> movesOf(const entry::IndexCall &entry) {
  auto number = [&](const char *name) {
    auto found = entry.numbers.find(name);
    return found == entry.numbers.end() ? 0 : found->second;
  };
  const std::vector<Tensor> &of = entry.inputs;
  const Tensor &result = entry.outputs[0];
  int64_t axis = number("axis");
  if (entry.function == "cumsum")
    return cumsum(of[0], result, axis, number("exclusive"), number("reverse"));
  if (entry.function == "gather")
    return gather(of[0], of[1], result, axis);
  if (entry.function == "gather_grad")
    return gatherGrad(of[0], of[1], result, axis);
  if (entry.function == "gather_nd")
    return gatherNd(of[0], of[1], result, number("batch_dims"));
  fail("this device has no function ", entry.function);
}

} // namespace shardc::runtime::cuda

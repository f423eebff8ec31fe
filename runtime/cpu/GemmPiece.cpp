// Part after part along k: a block of b is packed, panel by panel of 64
// columns, and stays in the second-level cache while the rows of a pass, six at
// a time. They are read where they lie, or packed where the kernels cannot.
#include "runtime/cpu/GemmPiece.h"

#include "runtime/base/Memory.h"
#include "runtime/cpu/NarrowRows.h"
#include "runtime/simd/Pack.h"

#include <array>

namespace shardc::runtime::cpu {

using namespace tiles;

std::byte *tiles::threadMemory() {
  thread_local Memory memory =
      Memory::allocate("packed operands of products", tiledGemmBytes);
  return memory.data();
}

namespace {

/// Columns of the panel that begins at `column` of `columns`: none of fewer
/// columns than the kernels want, unless there are no more.
int64_t panelWidth(int64_t column, int64_t columns) {
  int64_t left = columns - column;
  if (left <= panelColumns)
    return left;
  return left < panelColumns + fewestColumns ? panelColumns - 16 : panelColumns;
}

/// Asks for rows of c that come next: a kernel begins with reading them.
void prefetchRows(const float *c, int64_t stride, int64_t rows,
                  int64_t columns) {
  constexpr int64_t line = 16;
  for (int64_t row = 0; row < rows; ++row, c += stride) {
    for (int64_t i = 0; i < columns; i += line)
      __builtin_prefetch(c + i, 1);
    __builtin_prefetch(c + columns - 1, 1);
  }
}

} // namespace

/// Asks for the share [from, to) of the part's depth in rows of a, into the
/// second-level cache.
void GemmPiece::prefetchLeft(const Left &left, int64_t row, int64_t rows,
                             int64_t from, int64_t to) const {
  constexpr int64_t line = 64;
  int64_t begin = from * elementBytes(), end = to * elementBytes();
  for (int64_t i = row; i < row + rows; ++i) {
    const std::byte *data = left.data + left.row(i) * elementBytes();
    for (int64_t byte = begin / line * line; byte < end; byte += line)
      __builtin_prefetch(data + byte, 0, 2);
  }
}

/// Rows of a for the kernels, along [first, first + length) of k.
GemmPiece::Left GemmPiece::leftRows(int64_t row, int64_t rows, int64_t first,
                                    int64_t length, int64_t columns) {
  if (readsA(columns))
    return {at(p.a, row, first), p.a.stride, p.a.transpose};
  int64_t stride = depth() + depthPadding / elementBytes();
  for (int64_t i = 0; execute && i < rows; i += rowsPackedAtOnce)
    packLeft(packedA + i * stride * elementBytes(), stride, row + i,
             std::min(rowsPackedAtOnce, rows - i), first, length);
  return {packedA, stride, false};
}

/// A left operand [rows, length] of the kernels.
void GemmPiece::packLeft(std::byte *to, int64_t stride, int64_t row,
                         int64_t rows, int64_t first, int64_t length) const {
  const Matrix &a = p.a;
  std::byte *data = at(a, row, first);
  if (factors == Factors::bfloat16) {
    auto *target = reinterpret_cast<BFloat16 *>(to);
    auto *source = reinterpret_cast<const BFloat16 *>(data);
    if (a.transpose)
      simd::pack::transposeDepth(target, stride, source, a.stride, length,
                                 rows);
    else
      simd::pack::copyDepth(target, stride, source, a.stride, rows, length);
    return;
  }
  withNarrow(a.dtype, [&]<typename S>(S) {
    auto *target = reinterpret_cast<float *>(to);
    auto *source = reinterpret_cast<const S *>(data);
    if (a.transpose)
      simd::pack::transpose(target, stride, source, a.stride, length, rows);
    else
      simd::pack::copy(target, stride, source, a.stride, rows, length);
  });
}

/// A right operand [length, columns] of the kernels.
void GemmPiece::packRight(std::byte *to, int64_t stride, const Matrix &from,
                          int64_t first, int64_t length, int64_t column,
                          int64_t columns) const {
  std::byte *data = at(from, first, column);
  if (factors == Factors::bfloat16) {
    auto *target = reinterpret_cast<BFloat16 *>(to);
    auto *source = reinterpret_cast<const BFloat16 *>(data);
    if (from.transpose)
      simd::pack::transposePairs(target, stride, source, from.stride, columns,
                                 length);
    else
      simd::pack::copyPairs(target, stride, source, from.stride, length,
                            columns);
    return;
  }
  withNarrow(from.dtype, [&]<typename S>(S) {
    auto *target = reinterpret_cast<float *>(to);
    auto *source = reinterpret_cast<const S *>(data);
    if (from.transpose)
      simd::pack::transpose(target, stride, source, from.stride, columns,
                            length);
    else
      simd::pack::copy(target, stride, source, from.stride, length, columns);
  });
}

void GemmPiece::fillBias(int64_t column, int64_t columns, float *c,
                         int64_t stride, int64_t rows) const {
  float row[panelColumns];
  withNarrow(p.biasDtype, [&]<typename S>(S) {
    widenRow(reinterpret_cast<const S *>(p.bias) + column,
             reinterpret_cast<ComputeOf<S> *>(row), columns);
  });
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(row, columns, c + i * stride);
}

/// The panels of the part's columns [from, to).
void GemmPiece::packPanels(const Part &part, int64_t from, int64_t to) const {
  if (part.columns < fewestColumns)
    std::fill_n(packedB, panelColumns * part.length * elementBytes(),
                std::byte(0));
  // Along the rows of b as it is stored.
  int64_t length = std::min(part.length, p.k - part.first); // without padding
  int64_t step = p.b.transpose ? length : 16;
  for (int64_t i = 0; i < length; i += step) {
    std::byte *target = packedB + i * panelColumns * elementBytes();
    for (int64_t panel = from, width; panel < to; panel += width) {
      width = panelWidth(panel, part.columns);
      packRight(target, panelColumns, p.b, part.first + i,
                std::min(step, length - i), part.column + panel, width);
      target += panelColumns * part.length * elementBytes();
    }
  }
}

/// One part along k of a block of rows, block after block of b.
void GemmPiece::multiplyPart(const Part &part) {
  int64_t most = std::min(
      bytesOfBlock / (panelColumns * part.length * elementBytes()), mostPanels);
  for (int64_t from = 0, to; from < part.columns; from = to) {
    to = from;
    for (int64_t count = 0; count < most && to < part.columns; ++count)
      to += panelWidth(to, part.columns);
    if (execute && !part.readsB)
      packPanels(part, from, to);
    multiplyBlock(part, from, to);
  }
}

MicroKernel GemmPiece::kernelOf(const Part &part, int64_t rows,
                                int64_t width) const {
  return microKernel(
      factors,
      {rows, width < fewestColumns ? 2 * fewestColumns - 2 : width, part.length,
       part.left.stride, part.readsB ? p.b.stride : panelColumns,
       part.sums.stride, p.accumulate || part.first > 0 || startsWithBias(part),
       part.left.transpose});
}

/// All rows of a part by its columns [from, to).
void GemmPiece::multiplyBlock(const Part &part, int64_t from,
                              int64_t to) const {
  const Sums &sums = part.sums;
  bool isLast = part.first + part.length >= p.k;
  bool isShallow = part.length <= shallowDepth;
  // Register tile by register tile, so that what comes next can be asked for:
  // the rest of c and a is not in a cache near by.
  bool asks = part.rows > fewRows && !isShallow;
  int64_t step = asks ? rowGroup : isShallow ? rowsAtOnce : part.rows;
  step = std::min(step, part.rows);

  std::array<Panel, mostPanels> panels;
  int64_t count = 0;
  int64_t panelBytes = panelColumns * part.length * elementBytes();
  for (int64_t begin = from, width; begin < to; begin += width, ++count) {
    width = panelWidth(begin, part.columns);
    Panel &panel = panels[count];
    panel = {begin, width,
             part.readsB ? at(p.b, part.first, part.column + begin)
                         : packedB + count * panelBytes,
             kernelOf(part, step, width), nullptr};
    if (int64_t left = part.rows % step)
      panel.rest = kernelOf(part, left, width);
  }
  if (!execute)
    return;

  for (int64_t row = 0; row < part.rows; row += step) {
    int64_t rows = std::min(step, part.rows - row);
    int64_t next = row + rows, nextRows = std::min(step, part.rows - next);
    const std::byte *a = part.left.data + part.left.row(row) * elementBytes();
    for (int64_t i = 0; i < count; ++i) {
      const Panel &panel = panels[i];
      float *c = sums.data + row * sums.stride + panel.begin;
      if (asks && i + 1 < count)
        prefetchRows(c + panel.width, sums.stride, rows, panels[i + 1].width);
      else if (asks && nextRows > 0)
        prefetchRows(sums.data + next * sums.stride + from, sums.stride,
                     nextRows, panels[0].width);
      if (asks && nextRows > 0 && !part.left.transpose)
        prefetchLeft(part.left, next, nextRows, part.length * i / count,
                     part.length * (i + 1) / count);
      if (startsWithBias(part))
        fillBias(part.column + panel.begin, panel.width, c, sums.stride, rows);
      (rows == step ? panel.step : panel.rest)(panel.b, a, c);
      if (isLast && p.alpha != 1)
        for (int64_t j = 0; j < rows; ++j)
          simd::loops<float>().scale(c + j * sums.stride, p.alpha, panel.width);
    }
  }
}

/// c as it is into the scratch, and the scratch into c.
void GemmPiece::loadSums(int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
  withNarrow(p.c.dtype, [&]<typename S>(S) {
    widenRows(reinterpret_cast<const S *>(at(p.c, row, column)), p.c.stride,
              reinterpret_cast<ComputeOf<S> *>(scratch), columnsOfScratch, rows,
              columns);
  });
}
void GemmPiece::storeSums(int64_t row, int64_t rows, int64_t column,
                          int64_t columns) {
  withNarrow(p.c.dtype, [&]<typename S>(S) {
    narrowRows(reinterpret_cast<const ComputeOf<S> *>(scratch),
               columnsOfScratch, reinterpret_cast<S *>(at(p.c, row, column)),
               p.c.stride, rows, columns);
  });
}

void GemmPiece::run(int64_t row, int64_t rows, int64_t column,
                    int64_t columns) {
  if (p.c.dtype == plan::FLOAT32 && columns >= fewestColumns) {
    Cut blocks(rows, readsA(columns) ? rowsRead : rowsPacked, rowGroup);
    for (int64_t i = 0; i < blocks.parts; ++i)
      runInPlace(row + blocks.begin(i), blocks.length(i), column, columns);
    return;
  }
  Cut high(rows, rowsOfScratch, rowGroup),
      wide(columns, columnsOfScratch, panelColumns);
  for (int64_t i = 0; i < high.parts; ++i)
    for (int64_t j = 0; j < wide.parts; ++j)
      runByScratch(row + high.begin(i), high.length(i), column + wide.begin(j),
                   wide.length(j));
}

/// Packs the rows of a for it.
GemmPiece::Part GemmPiece::partOf(int64_t row, int64_t rows, int64_t first,
                                  int64_t column, int64_t columns,
                                  const Sums &sums) {
  int64_t length = std::min(depth(), p.k - first);
  bool pairs = factors == Factors::bfloat16;
  bool readsB = !pairs && !isConverted(p.b) && !p.b.transpose &&
                p.m <= fewRows && columns >= fewestColumns;
  return {leftRows(row, rows, first, length, columns),
          rows,
          first,
          roundUp(length, pairs ? 2 : 1),
          column,
          columns,
          readsB,
          sums};
}

/// With sums where they belong.
void GemmPiece::runInPlace(int64_t row, int64_t rows, int64_t column,
                           int64_t columns) {
  auto *c = reinterpret_cast<float *>(at(p.c, row, column));
  for (int64_t first = 0; first < p.k; first += depth())
    multiplyPart(partOf(row, rows, first, column, columns, {c, p.c.stride}));
}

/// With sums beside it, rounded at the end: at most rowsOfScratch and
/// columnsOfScratch.
void GemmPiece::runByScratch(int64_t row, int64_t rows, int64_t column,
                             int64_t columns) {
  if (execute && p.accumulate)
    loadSums(row, rows, column, columns);
  for (int64_t first = 0; first < p.k; first += depth())
    multiplyPart(
        partOf(row, rows, first, column, columns, {scratch, columnsOfScratch}));
  if (execute)
    storeSums(row, rows, column, columns);
}

} // namespace shardc::runtime::cpu

// The loops around the micro-kernels: along k by KC, along the columns of b by
// NC, which are packed in panels of NR columns, then along the rows by MR. Rows
// of a are read where they lie, or packed where the kernels cannot.
#include "runtime/cpu/products/GemmTile.h"

#include "runtime/cpu/Cut.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <array>

namespace shardc::runtime::cpu {

using namespace blocking;

namespace {

/// The width of the panel that begins at `column` of `columns`, where panels
/// have `widest`. None has fewer columns than the kernels want, unless there
/// are no more: the last one may be wider instead.
int64_t panelWidth(int64_t column, int64_t columns, int64_t widest) {
  int64_t left = columns - column;
  if (left <= widest)
    return left;
  if (left >= widest + fewestColumns)
    return widest;
  return widest - 16 >= fewestColumns ? widest - 16 : left;
}

/// Elements from row to row of a packed panel, and in each row of the block
/// from panel to panel.
int64_t packedStride(int64_t width) {
  return std::max(sizes().NR, roundUp(width, 16));
}

/// Whether rows of b lie so far apart that most of a panel's fall into the same
/// few sets of a first-level cache, of which 2 KB hold half or more.
bool crowdsSets(const GemmDesc::Matrix &b) {
  return b.stride * int64_t(sizeof(float)) % 2048 == 0;
}

/// Prefetches the rows of c that come next: a kernel begins with reading them.
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

/// Prefetches the share [from, to) of the block's depth in rows of a into the
/// second-level cache.
void GemmTile::prefetchLeft(const Left &left, int64_t row, int64_t rows,
                            int64_t from, int64_t to) const {
  constexpr int64_t line = 64;
  int64_t begin = from * packing.elementBytes(),
          end = to * packing.elementBytes();
  for (int64_t i = row; i < row + rows; ++i) {
    const std::byte *data = left.data + left.row(i) * packing.elementBytes();
    for (int64_t byte = begin / line * line; byte < end; byte += line)
      __builtin_prefetch(data + byte, 0, 2);
  }
}

/// Returns rows of a for the kernels, along [first, first + length) of k.
GemmTile::Left GemmTile::leftRows(int64_t row, int64_t rows, int64_t first,
                                  int64_t length, int64_t columns) {
  if (readsA(columns))
    return {p.a.at(row, first), p.a.stride, p.a.transpose};
  int64_t stride = packing.depth() + KCPaddingBytes / packing.elementBytes();
  for (int64_t i = 0; execute && i < rows; i += rowsPackedAtOnce)
    packing.packLeft(buffers.packedA + i * stride * packing.elementBytes(),
                     stride, p.a, row + i, std::min(rowsPackedAtOnce, rows - i),
                     first, length);
  return {buffers.packedA, stride, false};
}

/// Writes the bias into every row of c.
void GemmTile::fillBias(int64_t column, int64_t columns, float *c,
                        int64_t stride, int64_t rows) const {
  float row[mostNR];
  withFloat32OrHalf(p.biasDtype, [&]<typename S>(S) {
    widenRow(reinterpret_cast<const S *>(p.bias) + column,
             reinterpret_cast<ComputeOf<S> *>(row), columns);
  });
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(row, columns, c + i * stride);
}

/// Packs the panels of the block's columns [from, to).
void GemmTile::packPanels(const Block &block, int64_t from, int64_t to) const {
  if (block.columns < fewestColumns)
    std::fill_n(buffers.packedB,
                sizes().NR * block.length * packing.elementBytes(),
                std::byte(0));
  // b is read along its rows as it is stored.
  int64_t length = std::min(block.length, p.k - block.first); // without padding
  int64_t step = p.b.transpose ? length : 16;
  int64_t most = packing.packsPanels(p.b) ? sizes().runOfB : 0;
  for (int64_t i = 0; i < length; i += step) {
    int64_t before = 0; // elements of the panels before this one in a row
    for (int64_t panel = from, width; panel < to; panel += width) {
      width = panelWidth(panel, block.columns, sizes().NR);
      int64_t stride = packedStride(width), panelStride = stride;
      // Full ones are packed together.
      while (width % sizes().NR == 0 && width < most && panel + width < to &&
             panelWidth(panel + width, block.columns, sizes().NR) ==
                 sizes().NR) {
        width += sizes().NR;
        panelStride = sizes().NR * block.length;
      }
      int64_t offset = before * block.length + i * stride;
      before += std::max(stride, width);
      packing.packRight(buffers.packedB + offset * packing.elementBytes(),
                        stride, panelStride, p.b, block.first + i,
                        std::min(step, length - i), block.column + panel,
                        width);
    }
  }
}

/// Multiplies a block of a by b, NC columns after NC columns.
void GemmTile::multiply(const Block &block) {
  int64_t most = std::min(sizes().packedBBytes / (sizes().NR * block.length *
                                                  packing.elementBytes()),
                          mostPanels);
  for (int64_t from = 0, to; from < block.columns; from = to) {
    to = from;
    for (int64_t count = 0; count < most && to < block.columns; ++count)
      to += panelWidth(to, block.columns, block.widest());
    if (execute && !block.readsB)
      packPanels(block, from, to);
    multiplyPanels(block, from, to);
  }
}

MicroKernel GemmTile::kernelOf(const Block &block, int64_t rows,
                               int64_t width) const {
  return microKernel(
      packing.factors,
      {rows, width < fewestColumns ? 2 * fewestColumns - 2 : width,
       block.length, block.left.stride,
       block.readsB ? p.b.stride : packedStride(width), block.sums.stride,
       p.accumulate || block.first > 0 || startsWithBias(block),
       block.left.transpose});
}

/// Multiplies all rows of a block by its columns [from, to), which are packed.
void GemmTile::multiplyPanels(const Block &block, int64_t from,
                              int64_t to) const {
  const Sums &sums = block.sums;
  bool isLast = block.first + block.length >= p.k;
  bool isShallow = block.length <= shallowDepth;
  int64_t step = isShallow              ? sizes().rowsOfShallowKernel
                 : block.rows > fewRows ? sizes().rowsOfKernel
                                        : block.rows;
  step = std::min(step, block.rows);
  // Where the kernel runs for one register tile at a time, what comes next is
  // prefetched: the rest of c and a is not in a cache near by.
  bool prefetches = step == MR && block.rows > fewRows && !isShallow;

  std::array<Panel, mostPanels> panels;
  int64_t count = 0;
  int64_t columnBytes = block.length * packing.elementBytes();
  int64_t before = 0; // as packPanels counts
  for (int64_t begin = from, width; begin < to; begin += width, ++count) {
    width = panelWidth(begin, block.columns, block.widest());
    Panel &panel = panels[count];
    panel = {begin, width,
             block.readsB ? p.b.at(block.first, block.column + begin)
                          : buffers.packedB + before * columnBytes,
             kernelOf(block, step, width), nullptr};
    before += packedStride(width);
    if (int64_t left = block.rows % step)
      panel.rest = kernelOf(block, left, width);
  }
  if (!execute)
    return;

  for (int64_t row = 0; row < block.rows; row += step) {
    int64_t rows = std::min(step, block.rows - row);
    int64_t next = row + rows, nextRows = std::min(step, block.rows - next);
    const std::byte *a =
        block.left.data + block.left.row(row) * packing.elementBytes();
    for (int64_t i = 0; i < count; ++i) {
      const Panel &panel = panels[i];
      float *c = sums.data + row * sums.stride + panel.begin;
      if (prefetches && i + 1 < count)
        prefetchRows(c + panel.width, sums.stride, rows, panels[i + 1].width);
      else if (prefetches && nextRows > 0)
        prefetchRows(sums.data + next * sums.stride + from, sums.stride,
                     nextRows, panels[0].width);
      if (prefetches && nextRows > 0 && !block.left.transpose)
        prefetchLeft(block.left, next, nextRows, block.length * i / count,
                     block.length * (i + 1) / count);
      if (startsWithBias(block))
        fillBias(block.column + panel.begin, panel.width, c, sums.stride, rows);
      (rows == step ? panel.step : panel.rest)(panel.b, a, c);
      if (isLast && p.alpha != 1)
        for (int64_t j = 0; j < rows; ++j)
          simd::loops<float>().scale(c + j * sums.stride, p.alpha, panel.width);
    }
  }
}

/// Copies c into the scratch.
void GemmTile::loadSums(int64_t row, int64_t rows, int64_t column,
                        int64_t columns) {
  withFloat32OrHalf(p.c.dtype, [&]<typename S>(S) {
    widenRows(reinterpret_cast<const S *>(p.c.at(row, column)), p.c.stride,
              reinterpret_cast<ComputeOf<S> *>(buffers.scratch), scratchColumns,
              rows, columns);
  });
}
/// Rounds the scratch into c.
void GemmTile::storeSums(int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
  withFloat32OrHalf(p.c.dtype, [&]<typename S>(S) {
    roundRows(reinterpret_cast<const ComputeOf<S> *>(buffers.scratch),
              scratchColumns, reinterpret_cast<S *>(p.c.at(row, column)),
              p.c.stride, rows, columns);
  });
}

void GemmTile::run(int64_t row, int64_t rows, int64_t column, int64_t columns) {
  if (p.c.dtype == plan::FLOAT32 && columns >= fewestColumns) {
    Cut blocks(rows, readsA(columns) ? MCInPlace : MCPacked(), MR);
    for (int64_t i = 0; i < blocks.parts; ++i)
      runInPlace(row + blocks.begin(i), blocks.length(i), column, columns);
    return;
  }
  Cut high(rows, scratchRows, MR), wide(columns, scratchColumns, sizes().NR);
  for (int64_t i = 0; i < high.parts; ++i)
    for (int64_t j = 0; j < wide.parts; ++j)
      runInScratch(row + high.begin(i), high.length(i), column + wide.begin(j),
                   wide.length(j));
}

/// Whether kernels read b where it lies, which spares packing it for few rows.
/// Some pass several times over a panel, and find it packed where it does not
/// stay in the first-level cache.
bool GemmTile::readsB(int64_t columns) const {
  bool fits = !packing.hasPairs() && !packing.isConverted(p.b) &&
              !p.b.transpose && columns >= fewestColumns;
  bool repays = crowdsSets(p.b) && p.m >= sizes().crowdedRows;
  return fits && p.m <= fewRows && !repays;
}

/// Packs the rows of a for the block, if the kernels cannot read them.
GemmTile::Block GemmTile::blockOf(int64_t row, int64_t rows, int64_t first,
                                  int64_t column, int64_t columns,
                                  const Sums &sums) {
  int64_t length = std::min(packing.depth(), p.k - first);
  return {leftRows(row, rows, first, length, columns),
          rows,
          first,
          roundUp(length, packing.hasPairs() ? 2 : 1),
          column,
          columns,
          readsB(columns),
          sums};
}

/// Forms the sums where they belong.
void GemmTile::runInPlace(int64_t row, int64_t rows, int64_t column,
                          int64_t columns) {
  auto *c = reinterpret_cast<float *>(p.c.at(row, column));
  for (int64_t first = 0; first < p.k; first += packing.depth())
    multiply(blockOf(row, rows, first, column, columns, {c, p.c.stride}));
}

/// Forms the sums in the scratch and rounds them at the end. The tile has at
/// most scratchRows and scratchColumns.
void GemmTile::runInScratch(int64_t row, int64_t rows, int64_t column,
                            int64_t columns) {
  if (execute && p.accumulate)
    loadSums(row, rows, column, columns);
  for (int64_t first = 0; first < p.k; first += packing.depth())
    multiply(blockOf(row, rows, first, column, columns,
                     {buffers.scratch, scratchColumns}));
  if (execute)
    storeSums(row, rows, column, columns);
}

} // namespace shardc::runtime::cpu

// The rows of a are packed (a tile stays in the second-level cache), b is
// packed panel by panel of 64 columns, the kernels run over both, part after
// part along k.
#include "runtime/cpu/GemmPiece.h"

#include "runtime/Memory.h"
#include "runtime/cpu/NarrowRows.h"
#include "runtime/cpu/simd/Pack.h"

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

/// Rows of a for the kernels, along [first, first + length) of k.
GemmPiece::Left GemmPiece::leftRows(int64_t row, int64_t rows, int64_t first,
                                    int64_t length, int64_t columns) {
  const Matrix &a = p.a;
  std::byte *from = at(a, row, first);
  bool pairs = factors == Factors::bfloat16;
  if (!isConverted(a) && columns < manyColumns &&
      (!pairs || (!a.transpose && a.stride % 2 == 0 && length % 2 == 0)))
    return {from, a.stride, a.transpose};
  int64_t stride = depth + depthPadding * (pairs ? 2 : 1);
  if (execute && pairs) {
    auto *to = reinterpret_cast<BFloat16 *>(packedA);
    auto *source = reinterpret_cast<const BFloat16 *>(from);
    if (a.transpose)
      pack::transposeDepth(to, stride, source, a.stride, length, rows);
    else
      pack::copyDepth(to, stride, source, a.stride, rows, length);
  } else if (execute) {
    withNarrow(a.dtype, [&]<typename S>(S) {
      auto *to = reinterpret_cast<float *>(packedA);
      auto *source = reinterpret_cast<const S *>(from);
      if (a.transpose)
        pack::transpose(to, stride, source, a.stride, length, rows);
      else
        pack::copy(to, stride, source, a.stride, rows, length);
    });
  }
  return {packedA, stride, false};
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
      pack::transposePairs(target, stride, source, from.stride, columns,
                           length);
    else
      pack::copyPairs(target, stride, source, from.stride, length, columns);
    return;
  }
  withNarrow(from.dtype, [&]<typename S>(S) {
    auto *target = reinterpret_cast<float *>(to);
    auto *source = reinterpret_cast<const S *>(data);
    if (from.transpose)
      pack::transpose(target, stride, source, from.stride, columns, length);
    else
      pack::copy(target, stride, source, from.stride, length, columns);
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
void GemmPiece::packPanels(const Part &part, int64_t from, int64_t to,
                           std::byte *packed, int64_t panelBytes) const {
  // Along the rows of b as it is stored.
  int64_t length = std::min(part.length, p.k - part.first); // without padding
  int64_t step = p.b.transpose ? length : 16;
  for (int64_t i = 0; i < length; i += step) {
    std::byte *target = packed + i * panelColumns * elementBytes();
    for (int64_t panel = from, width; panel < to; panel += width) {
      width = panelWidth(panel, part.columns);
      packRight(target, panelColumns, p.b, part.first + i,
                std::min(step, length - i), part.column + panel, width);
      target += panelBytes;
    }
  }
}

/// One part along k of a tile of rows.
void GemmPiece::multiplyPart(const Part &part) {
  bool shallow = part.length <= shallowDepth;
  int64_t panelBytes = panelColumns * part.length * elementBytes();
  int64_t panelsAtOnce =
      shallow ? bytesOfPassingB / panelBytes : panelsTogether;
  int64_t rowStep = shallow ? rowsAtOnce : part.rows;
  std::byte *packed = packedB;
  for (int64_t from = 0, to; from < part.columns; from = to) {
    int64_t count = 0;
    for (to = from; count < panelsAtOnce && to < part.columns; ++count)
      to += panelWidth(to, part.columns);
    if (execute && !part.readsB && part.panels != Panels::kept) {
      if (part.columns < fewestColumns)
        std::fill_n(packed, panelBytes, std::byte(0));
      packPanels(part, from, to, packed, panelBytes);
    }
    for (int64_t row = 0; row < part.rows; row += rowStep)
      for (int64_t panel = from, i = 0; panel < to; ++i) {
        int64_t width = panelWidth(panel, part.columns);
        multiplyPanel(part, row, std::min(rowStep, part.rows - row), panel,
                      width, packed + i * panelBytes);
        panel += width;
      }
    if (part.panels != Panels::passing)
      packed += count * panelBytes;
  }
}

/// The rows [row, row + rows) of a panel of `width` columns.
void GemmPiece::multiplyPanel(const Part &part, int64_t row, int64_t rows,
                              int64_t panel, int64_t width,
                              const std::byte *packed) const {
  const Sums &sums = part.sums;
  float *c = sums.data + row * sums.stride + panel;
  bool startsWithBias = part.first == 0 && p.bias;
  bool isLast = part.first + part.length >= p.k;
  MicroKernelShape shape{rows,
                         width < fewestColumns ? 2 * fewestColumns - 2 : width,
                         part.length,
                         part.left.stride,
                         part.readsB ? p.b.stride : panelColumns,
                         sums.stride,
                         p.accumulate || part.first > 0 || startsWithBias,
                         part.left.transpose};
  // Many rows where c is not in the cache: a register tile at a time, so that
  // the next one's c can be asked for.
  if (sums.data != scratch && rows > fewRows && part.length > shallowDepth)
    shape.rows = rowGroup;
  MicroKernel kernel = microKernel(factors, shape), rest = kernel;
  if (int64_t left = rows % shape.rows) {
    MicroKernelShape last = shape;
    last.rows = left;
    rest = microKernel(factors, last);
  }
  if (!execute)
    return;
  const std::byte *b =
      part.readsB ? at(p.b, part.first, part.column + panel) : packed;
  for (int64_t i = 0; i < rows; i += shape.rows) {
    int64_t count = std::min(shape.rows, rows - i);
    float *own = c + i * sums.stride;
    if (i + count < rows)
      prefetchRows(own + count * sums.stride, sums.stride,
                   std::min(count, rows - i - count), width);
    if (startsWithBias)
      fillBias(part.column + panel, width, own, sums.stride, count);
    (count == shape.rows ? kernel : rest)(
        b, part.left.data + part.left.row(row + i) * elementBytes(), own);
    if (isLast && p.alpha != 1)
      for (int64_t j = 0; j < count; ++j)
        simd<float>().scale(own + j * sums.stride, p.alpha, width);
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
  Cut tiles(rows, tileRows, rowGroup);
  bool inPlace = p.c.dtype == plan::FLOAT32;
  Cut blocks(columns,
             !inPlace           ? columnsOfScratch
             : tiles.parts == 1 ? columns
                                : columnsOfBlock,
             panelColumns);
  for (int64_t i = 0; i < blocks.parts; ++i) {
    int64_t begin = column + blocks.begin(i), width = blocks.length(i);
    if (inPlace && width >= fewestColumns) {
      runInPlace(row, tiles, begin, width);
      continue;
    }
    for (int64_t tile = 0; tile < tiles.parts; ++tile)
      runByScratch(row + tiles.begin(tile), tiles.length(tile), begin, width);
  }
}

/// Packs the rows of a for it.
GemmPiece::Part GemmPiece::partOf(int64_t row, int64_t rows, int64_t first,
                                  int64_t column, int64_t columns,
                                  const Sums &sums, Panels panels) {
  int64_t length = std::min(depth, p.k - first);
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
          sums,
          panels};
}

/// With sums where they belong: each part of b is packed once for all tiles.
void GemmPiece::runInPlace(int64_t row, const Cut &tiles, int64_t column,
                           int64_t columns) {
  for (int64_t first = 0; first < p.k; first += depth)
    for (int64_t tile = 0; tile < tiles.parts; ++tile) {
      int64_t top = row + tiles.begin(tile);
      auto *c = reinterpret_cast<float *>(at(p.c, top, column));
      Panels panels = tiles.parts == 1 ? Panels::passing
                      : tile == 0      ? Panels::packed
                                       : Panels::kept;
      multiplyPart(partOf(top, tiles.length(tile), first, column, columns,
                          {c, p.c.stride}, panels));
    }
}

/// With sums beside it, rounded at the end: at most a tile of rows and
/// columnsOfScratch.
void GemmPiece::runByScratch(int64_t row, int64_t rows, int64_t column,
                             int64_t columns) {
  if (execute && p.accumulate)
    loadSums(row, rows, column, columns);
  for (int64_t first = 0; first < p.k; first += depth)
    multiplyPart(partOf(row, rows, first, column, columns,
                        {scratch, columnsOfScratch}, Panels::passing));
  if (execute)
    storeSums(row, rows, column, columns);
}

} // namespace shardc::runtime::cpu

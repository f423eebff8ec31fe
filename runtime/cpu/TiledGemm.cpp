// A product is cut into pieces (tiles of rows, ranges of columns), each
// computed by one thread, part after part along k:
// - the rows of a are packed (a tile stays in the second-level cache), b is
//   packed panel by panel of 64 columns, the kernels run over both;
// - a product of few rows whose b is stored transposed is computed the other
// way
//   around, c^T = b a^T: b is read once, where it lies, and only a is packed.
#include "runtime/cpu/TiledGemm.h"

#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Memory.h"
#include "runtime/ThreadPool.h"
#include "runtime/cpu/Cut.h"
#include "runtime/cpu/MicroKernels.h"
#include "runtime/cpu/NarrowRows.h"
#include "runtime/cpu/simd/Pack.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace shardc::runtime::cpu {
namespace {

using Matrix = NarrowGemm::Matrix;

constexpr int64_t panelColumns = 64;
// By measurement on a Zen 5 (48 KB, 1 MB): 0013-libxsmm.md.
constexpr int64_t tileRowsOf[] = {300, 516}; // by Factors
constexpr int64_t columnsOfScratch = 384;    // of c, where it is rounded
constexpr int64_t depth = 512;               // of a part
constexpr int64_t depthPadding = 16;         // elements of 32 bits
constexpr int64_t rowGroup = 6;              // the kernels' register tiles
/// Up to this many rows, packing b costs more than reading it as it lies.
constexpr int64_t fewRows = 64;
/// From this many columns on a is packed even where it could be read as it
/// lies.
constexpr int64_t manyColumns = 192;
/// Up to this depth a product writes more than it multiplies: c is written row
/// by row.
constexpr int64_t shallowDepth = 64;
constexpr int64_t rowsAtOnce = 48;    // then
constexpr int64_t panelsTogether = 2; // packed at a time
/// Columns of b that stay packed while several tiles of rows are multiplied by
/// them.
constexpr int64_t columnsOfBlock = 1536;

constexpr int64_t bytesOfA =
    std::max(tileRowsOf[0] * (depth + depthPadding),
             tileRowsOf[1] * (depth / 2 + depthPadding)) *
    int64_t(sizeof(float));
constexpr int64_t bytesOfB = columnsOfBlock * depth * int64_t(sizeof(float));
/// Of it, what stays in the second-level cache.
constexpr int64_t bytesOfPassingB = 512 << 10;
constexpr int64_t bytesOfC =
    tileRowsOf[1] * columnsOfScratch * int64_t(sizeof(float));
// A tile is no higher, whatever the product.
static_assert(tileRowsOf[0] % rowGroup == 0 && tileRowsOf[1] % rowGroup == 0);
static_assert(tileRowsOf[0] <= tileRowsOf[1]);
static_assert(bytesOfA + bytesOfB + bytesOfC <= tiledGemmBytes);
static_assert(bytesOfB >= panelColumns * depth * 4);

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The calling thread's memory for packed operands.
std::byte *threadMemory() {
  thread_local Memory memory =
      Memory::allocate("packed operands of products", tiledGemmBytes);
  return memory.data();
}

std::byte *at(const Matrix &matrix, int64_t row, int64_t column) {
  if (matrix.transpose)
    std::swap(row, column);
  return matrix.data + (row * matrix.stride + column) *
                           static_cast<int64_t>(elementSize(matrix.dtype));
}

/// Columns of the panel that begins at `column` of `columns`: none of fewer
/// columns than the kernels want, unless there are no more.
int64_t panelWidth(int64_t column, int64_t columns) {
  int64_t left = columns - column;
  if (left <= panelColumns)
    return left;
  return left < panelColumns + fewestColumns ? panelColumns - 16 : panelColumns;
}

/// One piece of a product, or with `execute` false the kernels that it needs.
class Piece {
public:
  Piece(const NarrowGemm &product, Factors factors, bool execute)
      : p(product), factors(factors), execute(execute),
        tileRows(tileRowsOf[factors == Factors::bfloat16]),
        packedA(threadMemory()), packedB(packedA + bytesOfA),
        scratch(reinterpret_cast<float *>(packedB + bytesOfB)) {}

  void run(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void runTurned(int64_t column, int64_t columns);

  /// Whether the product is computed as c^T = b a^T.
  static bool isTurned(const NarrowGemm &p, Factors factors) {
    bool pairs = factors == Factors::bfloat16;
    return p.b.transpose && p.m <= fewRows && p.n >= 2 * p.m && p.k >= 64 &&
           p.b.dtype == (pairs ? plan::BFLOAT16 : plan::FLOAT32) &&
           !(pairs && (p.k % 2 || p.b.stride % 2));
  }

private:
  /// A packed or unpacked left operand.
  struct Left {
    const std::byte *data;
    int64_t stride;
    bool transpose;
    int64_t row(int64_t index) const {
      return transpose ? index : index * stride;
    }
  };
  /// A part of the result as it is computed.
  struct Sums {
    float *data;
    int64_t stride;
  };
  /// What becomes of the packed panels of b.
  enum class Panels {
    passing, // packed for these rows alone
    packed,  // and kept for the next rows
    kept     // since the rows before
  };
  /// A tile of rows times some columns, along [first, first + length) of k.
  struct Part {
    Left left;
    int64_t rows, first, length; // of bfloat16 an even length
    int64_t column, columns;     // of b
    bool readsB;                 // where it lies
    Sums sums;
    Panels panels;
  };

  int64_t elementBytes() const { return factors == Factors::bfloat16 ? 2 : 4; }
  bool isConverted(const Matrix &matrix) const {
    return matrix.dtype !=
           (factors == Factors::bfloat16 ? plan::BFLOAT16 : plan::FLOAT32);
  }
  void runInPlace(int64_t row, const Cut &tiles, int64_t column,
                  int64_t columns);
  void runByScratch(int64_t row, int64_t rows, int64_t column, int64_t columns);
  Part partOf(int64_t row, int64_t rows, int64_t first, int64_t column,
              int64_t columns, const Sums &sums, Panels panels);
  Left leftRows(int64_t row, int64_t rows, int64_t first, int64_t length,
                int64_t columns);
  void packRight(std::byte *to, int64_t stride, const Matrix &from,
                 int64_t first, int64_t length, int64_t column,
                 int64_t columns) const;
  void packPanels(const Part &part, int64_t from, int64_t to, std::byte *packed,
                  int64_t panelBytes) const;
  void multiplyPart(const Part &part);
  void multiplyPanel(const Part &part, int64_t row, int64_t rows, int64_t panel,
                     int64_t width, const std::byte *packed) const;
  void fillBias(int64_t column, int64_t columns, float *c, int64_t stride,
                int64_t rows) const;
  void loadSums(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void storeSums(int64_t row, int64_t rows, int64_t column, int64_t columns);

  const NarrowGemm &p;
  Factors factors;
  bool execute;
  int64_t tileRows;
  std::byte *packedA, *packedB;
  float *scratch;
};

/// Rows of a for the kernels, along [first, first + length) of k.
Piece::Left Piece::leftRows(int64_t row, int64_t rows, int64_t first,
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
void Piece::packRight(std::byte *to, int64_t stride, const Matrix &from,
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

void Piece::fillBias(int64_t column, int64_t columns, float *c, int64_t stride,
                     int64_t rows) const {
  float row[panelColumns];
  withNarrow(p.biasDtype, [&]<typename S>(S) {
    widenRow(reinterpret_cast<const S *>(p.bias) + column,
             reinterpret_cast<ComputeOf<S> *>(row), columns);
  });
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(row, columns, c + i * stride);
}

/// The panels of the part's columns [from, to).
void Piece::packPanels(const Part &part, int64_t from, int64_t to,
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

/// One part along k of a tile of rows.
void Piece::multiplyPart(const Part &part) {
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
void Piece::multiplyPanel(const Part &part, int64_t row, int64_t rows,
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
void Piece::loadSums(int64_t row, int64_t rows, int64_t column,
                     int64_t columns) {
  withNarrow(p.c.dtype, [&]<typename S>(S) {
    widenRows(reinterpret_cast<const S *>(at(p.c, row, column)), p.c.stride,
              reinterpret_cast<ComputeOf<S> *>(scratch), columnsOfScratch, rows,
              columns);
  });
}
void Piece::storeSums(int64_t row, int64_t rows, int64_t column,
                      int64_t columns) {
  withNarrow(p.c.dtype, [&]<typename S>(S) {
    narrowRows(reinterpret_cast<const ComputeOf<S> *>(scratch),
               columnsOfScratch, reinterpret_cast<S *>(at(p.c, row, column)),
               p.c.stride, rows, columns);
  });
}

void Piece::run(int64_t row, int64_t rows, int64_t column, int64_t columns) {
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
Piece::Part Piece::partOf(int64_t row, int64_t rows, int64_t first,
                          int64_t column, int64_t columns, const Sums &sums,
                          Panels panels) {
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
void Piece::runInPlace(int64_t row, const Cut &tiles, int64_t column,
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
void Piece::runByScratch(int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
  if (execute && p.accumulate)
    loadSums(row, rows, column, columns);
  for (int64_t first = 0; first < p.k; first += depth)
    multiplyPart(partOf(row, rows, first, column, columns,
                        {scratch, columnsOfScratch}, Panels::passing));
  if (execute)
    storeSums(row, rows, column, columns);
}

/// Columns of c for all rows: sums [columns, m] in the scratch.
void Piece::runTurned(int64_t column, int64_t columns) {
  int64_t bytes = elementBytes();
  // What the kernels call columns: the rows of c.
  int64_t width = std::max<int64_t>(p.m, 2 * fewestColumns - 2);
  int64_t stride = roundUp(width, 16);
  int64_t most = bytesOfC / (stride * int64_t(sizeof(float)));
  int64_t deepest = bytesOfPassingB / (stride * bytes) / depth * depth;
  Matrix turnedA{p.a.data, p.a.dtype, p.a.stride, !p.a.transpose};
  float *staged = reinterpret_cast<float *>(packedA);
  for (int64_t end = column + columns, count; column < end; column += count) {
    count = std::min(most, end - column);
    auto eachBlock = [&](auto &&function) {
      constexpr int64_t step = 512;
      for (int64_t first = 0; first < count; first += step)
        function(first, std::min(step, count - first));
    };
    if (execute && p.accumulate)
      eachBlock([&](int64_t first, int64_t length) {
        withNarrow(p.c.dtype, [&]<typename S>(S) {
          pack::transpose(
              scratch + first * stride, stride,
              reinterpret_cast<const S *>(at(p.c, 0, column + first)),
              p.c.stride, p.m, length);
        });
      });
    if (execute && p.bias)
      withNarrow(p.biasDtype, [&]<typename S>(S) {
        for (int64_t i = 0; i < count; ++i) {
          S value = reinterpret_cast<const S *>(p.bias)[column + i];
          std::fill_n(scratch + i * stride, width, float(widened(value)));
        }
      });
    bool begun = p.accumulate || p.bias;
    for (int64_t first = 0; first < p.k; first += deepest) {
      int64_t length = std::min(deepest, p.k - first);
      if (execute) {
        if (p.m < width)
          std::fill_n(packedB, stride * length * bytes, std::byte(0));
        // op(a)^T [length, m]: its elements lie as those of op(a) do.
        packRight(packedB, stride, turnedA, first, length, 0, p.m);
      }
      for (int64_t row = 0; row < count; row += rowsAtOnce) {
        int64_t rows = std::min(rowsAtOnce, count - row);
        for (int64_t inner = 0; inner < length; inner += depth) {
          MicroKernel kernel = microKernel(
              factors,
              {rows, width, std::min(depth, length - inner), p.b.stride, stride,
               stride, begun || first + inner > 0});
          if (execute)
            kernel(packedB + inner * stride * bytes,
                   at(p.b, first + inner, column + row),
                   scratch + row * stride);
        }
      }
    }
    if (!execute)
      continue;
    if (p.alpha != 1)
      simd<float>().scale(scratch, p.alpha, count * stride);
    if (p.c.dtype == plan::FLOAT32) {
      pack::transpose(reinterpret_cast<float *>(at(p.c, 0, column)), p.c.stride,
                      scratch, stride, count, p.m);
      continue;
    }
    eachBlock([&](int64_t first, int64_t length) {
      pack::transpose(staged, length, scratch + first * stride, stride, length,
                      p.m);
      withNarrow(p.c.dtype, [&]<typename S>(S) {
        narrowRows(reinterpret_cast<const ComputeOf<S> *>(staged), length,
                   reinterpret_cast<S *>(at(p.c, 0, column + first)),
                   p.c.stride, p.m, length);
      });
    });
  }
}

Factors factorsOf(const NarrowGemm &p) {
  static const bool hasPairs = hasMicroKernels(Factors::bfloat16);
  return hasPairs && p.a.dtype == plan::BFLOAT16 && p.b.dtype == plan::BFLOAT16
             ? Factors::bfloat16
             : Factors::float32;
}

/// A product's pieces.
struct Pieces {
  Pieces(const NarrowGemm &p, int64_t products, int workers)
      : factors(factorsOf(p)), turned(Piece::isTurned(p, factors)),
        rows(p.m,
             turned || workers == 1 ? p.m
                                    : tileRowsOf[factors == Factors::bfloat16],
             rowGroup),
        columns(p.n, widest(p, products * rows.parts, workers), panelColumns) {}
  Factors factors;
  bool turned;
  Cut rows, columns;

  int64_t count() const { return rows.parts * columns.parts; }
  void run(const NarrowGemm &p, int64_t index, bool execute) const {
    GemmTimer timer(execute);
    Piece piece(p, factors, execute);
    int64_t row = index % rows.parts, column = index / rows.parts;
    if (turned)
      piece.runTurned(columns.begin(column), columns.length(column));
    else
      piece.run(rows.begin(row), rows.length(row), columns.begin(column),
                columns.length(column));
  }

private:
  /// Columns of a piece: enough pieces that threads end together.
  static int64_t widest(const NarrowGemm &p, int64_t others, int workers) {
    constexpr int64_t perWorker = 4, narrowest = 256;
    if (workers == 1 || others >= perWorker * workers)
      return p.n;
    int64_t wanted = (perWorker * workers + others - 1) / others;
    return std::max(narrowest,
                    roundUp((p.n + wanted - 1) / wanted, panelColumns));
  }
};

NarrowGemm productAt(NarrowGemm p, const Batch &batch, int64_t index) {
  auto move = [&](Matrix &matrix, int64_t elements) {
    matrix.data +=
        index * elements * static_cast<int64_t>(elementSize(matrix.dtype));
  };
  move(p.a, batch.strideA);
  move(p.b, batch.strideB);
  move(p.c, batch.strideC);
  return p;
}

} // namespace

bool runsTiledGemm() {
  static const bool value = [] {
    const char *library = std::getenv("SHARDC_GEMM");
    if (library && std::string_view(library) != "openblas" &&
        std::string_view(library) != "libxsmm")
      fail("SHARDC_GEMM is libxsmm or openblas, got '", library, "'");
    bool runs = hasMicroKernels(Factors::float32);
    if (library && std::string_view(library) == "libxsmm" && !runs)
      fail("SHARDC_GEMM=libxsmm needs a processor with AVX-512");
    return runs && !(library && std::string_view(library) == "openblas");
  }();
  return value;
}

bool isTiled(const NarrowGemm &p) {
  // Below this OpenBLAS has kernels that need no packing.
  constexpr double leastWork = 32 * 32 * 32;
  bool isSmall = p.n < fewestColumns ||
                 double(p.m) * double(p.n) * double(p.k) < leastWork;
  bool isPlain = p.a.dtype == plan::FLOAT32 && p.b.dtype == plan::FLOAT32 &&
                 p.c.dtype == plan::FLOAT32;
  return runsTiledGemm() && p.k > 0 &&
         (p.alpha == 1 || (!p.accumulate && !p.bias)) && !(isSmall && isPlain);
}

void tiledGemm(const NarrowGemm &p) {
  if (p.m == 0 || p.n == 0)
    return;
  Pieces pieces(p, 1, 1);
  for (int64_t piece = 0; piece < pieces.count(); ++piece)
    pieces.run(p, piece, true);
}

void tiledGemm(const NarrowGemm &p, const Batch &batch, int workers,
               ThreadPool &pool) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Pieces pieces(p, batch.count, workers);
  // Threads take neighbouring pieces, and many at once where they are small.
  constexpr double workOfFork = 1e5; // a few microseconds
  double work =
      double(pieces.rows.part) * double(pieces.columns.part) * double(p.k);
  int64_t grain = int64_t(workOfFork / std::max(1.0, work)) + 1;
  int64_t all = batch.count * pieces.count();
  pool.forPieces((all + grain - 1) / grain, workers, [&](int64_t index, int) {
    for (int64_t piece = index * grain;
         piece < std::min(all, (index + 1) * grain); ++piece)
      pieces.run(productAt(p, batch, piece / pieces.count()),
                 piece % pieces.count(), true);
  });
}

void prepareTiledGemm(const NarrowGemm &p, const Batch &batch, int workers) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Pieces pieces(p, batch.count, workers);
  for (int64_t piece = 0; piece < pieces.count(); ++piece)
    pieces.run(p, piece, false);
}

void prepareTiledGemmThreads(ThreadPool &pool) {
  if (runsTiledGemm())
    pool.forRanges(pool.workers(), 1,
                   [](int64_t, int64_t, int) { threadMemory(); });
}

} // namespace shardc::runtime::cpu

// A piece of a matrix product (TiledGemm.h): what one thread computes.
#ifndef SHARDC_RUNTIME_CPU_GEMMPIECE_H
#define SHARDC_RUNTIME_CPU_GEMMPIECE_H

#include "runtime/base/DType.h"
#include "runtime/cpu/Cut.h"
#include "runtime/cpu/MicroKernels.h"
#include "runtime/cpu/NarrowGemm.h"
#include "runtime/cpu/TiledGemm.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime::cpu {

/// Sizes, by measurement on a Zen 5 (48 KB, 1 MB): 0013-libxsmm.md.
namespace tiles {

constexpr int64_t panelColumns = 64; // of b, side by side in the register tile
constexpr int64_t rowGroup = 6;      // the register tile's rows
constexpr int64_t bytesOfDepth = 2048; // of a part
constexpr int64_t depthPadding = 64;   // bytes
/// Of b, packed: half of the second-level cache, where it stays while the rows
/// of a pass.
constexpr int64_t bytesOfBlock = 512 << 10;
constexpr int64_t mostPanels = 32; // of a block, where the depth is small
/// Rows of a that meet all of b before the next ones, packed or as they lie:
/// they stay in the third-level cache.
constexpr int64_t rowsPacked = 1536, rowsRead = 3072;
/// What packing them writes at a time stays in the second-level cache.
constexpr int64_t rowsPackedAtOnce = 256;
constexpr int64_t rowsOfPiece = 516; // where threads share a product
/// Of c, where it is rounded.
constexpr int64_t rowsOfScratch = 768, columnsOfScratch = 256;
/// Up to this many rows, packing b costs more than reading it as it lies.
constexpr int64_t fewRows = 64;
/// From this many columns on a transposed a is packed, even where it could be
/// read as it lies.
constexpr int64_t manyColumns = 192;
/// Up to this depth a product writes more than it multiplies: c is written row
/// by row.
constexpr int64_t shallowDepth = 64;
constexpr int64_t rowsAtOnce = 48; // then

constexpr int64_t bytesOfA = rowsPacked * (bytesOfDepth + depthPadding);
constexpr int64_t bytesOfC =
    rowsOfScratch * columnsOfScratch * int64_t(sizeof(float));
static_assert(bytesOfA + bytesOfBlock + bytesOfC <= tiledGemmBytes);
static_assert(bytesOfBlock >= panelColumns * bytesOfDepth);
static_assert(rowsPacked % rowGroup == 0 && rowsRead % rowGroup == 0);
static_assert(rowsOfScratch % rowGroup == 0 && rowsOfScratch <= rowsPacked);

/// Of the calling thread: tiledGemmBytes for packed operands.
std::byte *threadMemory();

inline int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace tiles

/// One piece of a product, or with `execute` false the kernels that it needs.
class GemmPiece {
public:
  GemmPiece(const NarrowGemm &product, Factors factors, bool execute)
      : p(product), factors(factors), execute(execute),
        packedA(tiles::threadMemory()), packedB(packedA + tiles::bytesOfA),
        scratch(reinterpret_cast<float *>(packedB + tiles::bytesOfBlock)) {}

  /// Of c: rows [row, row + rows), columns [column, column + columns).
  void run(int64_t row, int64_t rows, int64_t column, int64_t columns);
  /// All rows of these columns, computed as c^T = b a^T.
  void runTurned(int64_t column, int64_t columns);

  /// Whether the product is computed as c^T = b a^T.
  static bool isTurned(const NarrowGemm &p, Factors factors) {
    bool pairs = factors == Factors::bfloat16;
    return p.b.transpose && p.m <= tiles::fewRows && p.n >= 2 * p.m &&
           p.k >= 64 && p.b.dtype == (pairs ? plan::BFLOAT16 : plan::FLOAT32) &&
           !(pairs && (p.k % 2 || p.b.stride % 2));
  }

private:
  using Matrix = NarrowGemm::Matrix;
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
  /// A block of rows times some columns, along [first, first + length) of k.
  struct Part {
    Left left;
    int64_t rows, first, length; // of bfloat16 an even length
    int64_t column, columns;     // of b
    bool readsB;                 // where it lies
    Sums sums;
  };
  /// Columns [begin, begin + width) of a part, and what multiplies them: rows
  /// by `step`, and those that are left.
  struct Panel {
    int64_t begin, width;
    const std::byte *b;
    MicroKernel step, rest;
  };

  static std::byte *at(const Matrix &matrix, int64_t row, int64_t column) {
    if (matrix.transpose)
      std::swap(row, column);
    return matrix.data + (row * matrix.stride + column) *
                             static_cast<int64_t>(elementSize(matrix.dtype));
  }
  int64_t elementBytes() const { return factors == Factors::bfloat16 ? 2 : 4; }
  int64_t depth() const { return tiles::bytesOfDepth / elementBytes(); }
  bool isConverted(const Matrix &matrix) const {
    return matrix.dtype !=
           (factors == Factors::bfloat16 ? plan::BFLOAT16 : plan::FLOAT32);
  }
  /// Whether kernels read a where it lies.
  bool readsA(int64_t columns) const {
    bool pairs = factors == Factors::bfloat16;
    bool fits = pairs ? !p.a.transpose && p.a.stride % 2 == 0 && p.k % 2 == 0
                      : !p.a.transpose || columns < tiles::manyColumns;
    return fits && !isConverted(p.a);
  }
  void runInPlace(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void runByScratch(int64_t row, int64_t rows, int64_t column, int64_t columns);
  Part partOf(int64_t row, int64_t rows, int64_t first, int64_t column,
              int64_t columns, const Sums &sums);
  Left leftRows(int64_t row, int64_t rows, int64_t first, int64_t length,
                int64_t columns);
  void packLeft(std::byte *to, int64_t stride, int64_t row, int64_t rows,
                int64_t first, int64_t length) const;
  void packRight(std::byte *to, int64_t stride, const Matrix &from,
                 int64_t first, int64_t length, int64_t column,
                 int64_t columns) const;
  void packPanels(const Part &part, int64_t from, int64_t to) const;
  void multiplyPart(const Part &part);
  void multiplyBlock(const Part &part, int64_t from, int64_t to) const;
  MicroKernel kernelOf(const Part &part, int64_t rows, int64_t width) const;
  void prefetchLeft(const Left &left, int64_t row, int64_t rows, int64_t from,
                    int64_t to) const;
  bool startsWithBias(const Part &part) const {
    return part.first == 0 && p.bias;
  }
  void fillBias(int64_t column, int64_t columns, float *c, int64_t stride,
                int64_t rows) const;
  void loadSums(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void storeSums(int64_t row, int64_t rows, int64_t column, int64_t columns);

  const NarrowGemm &p;
  Factors factors;
  bool execute;
  std::byte *packedA, *packedB;
  float *scratch;
};

} // namespace shardc::runtime::cpu

#endif

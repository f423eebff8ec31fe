// A piece of a matrix product (TiledGemm.h): what one thread computes.
#ifndef SHARDC_RUNTIME_CPU_GEMMPIECE_H
#define SHARDC_RUNTIME_CPU_GEMMPIECE_H

#include "runtime/DType.h"
#include "runtime/cpu/Cut.h"
#include "runtime/cpu/MicroKernels.h"
#include "runtime/cpu/NarrowGemm.h"
#include "runtime/cpu/TiledGemm.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime::cpu {

/// Sizes, by measurement on a Zen 5 (48 KB, 1 MB): 0013-libxsmm.md.
namespace tiles {

constexpr int64_t panelColumns = 64;
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
        tileRows(tiles::tileRowsOf[factors == Factors::bfloat16]),
        packedA(tiles::threadMemory()), packedB(packedA + tiles::bytesOfA),
        scratch(reinterpret_cast<float *>(packedB + tiles::bytesOfB)) {}

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

  static std::byte *at(const Matrix &matrix, int64_t row, int64_t column) {
    if (matrix.transpose)
      std::swap(row, column);
    return matrix.data + (row * matrix.stride + column) *
                             static_cast<int64_t>(elementSize(matrix.dtype));
  }
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

} // namespace shardc::runtime::cpu

#endif

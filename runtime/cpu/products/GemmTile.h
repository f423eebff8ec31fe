// A tile of a matrix product's result (TiledGemm.h): what one thread computes
// at a time.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_GEMMTILE_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_GEMMTILE_H

#include "runtime/cpu/products/GemmPacking.h"

namespace shardc::runtime::cpu {

/// Computes a tile, or with `execute` false generates the kernels that it
/// needs.
class GemmTile {
public:
  GemmTile(const GemmDesc &product, Factors factors, bool execute)
      : p(product), packing{factors}, execute(execute),
        buffers(GemmBuffers::ofThread()) {}

  /// The tile is rows [row, row + rows) and columns [column, column + columns)
  /// of c.
  void run(int64_t row, int64_t rows, int64_t column, int64_t columns);

private:
  /// A left operand, packed or as it lies.
  struct Left {
    const std::byte *data;
    int64_t stride;
    bool transpose;
    int64_t row(int64_t index) const {
      return transpose ? index : index * stride;
    }
  };
  /// Where the sums of a tile are formed.
  struct Sums {
    float *data;
    int64_t stride;
  };
  /// MC rows times some columns, along [first, first + length) of k.
  struct Block {
    Left left;
    int64_t rows, first, length; // of bfloat16 an even length
    int64_t column, columns;     // of b
    bool readsB;                 // b is read where it lies
    Sums sums;

    /// Columns of a panel.
    int64_t widest() const {
      return readsB ? blocking::NRInPlace(rows) : blocking::sizes().NR;
    }
  };
  /// Columns [begin, begin + width) of a block, and the kernels that multiply
  /// them: `step` for rows by the step, `rest` for those that are left.
  struct Panel {
    int64_t begin, width;
    const std::byte *b;
    MicroKernel step, rest;
  };

  /// Whether kernels read a where it lies.
  bool readsA(int64_t columns) const {
    bool fits = packing.hasPairs()
                    ? !p.a.transpose && p.a.stride % 2 == 0 && p.k % 2 == 0
                    : !p.a.transpose || columns < blocking::manyColumns;
    return fits && !packing.isConverted(p.a);
  }
  bool readsB(int64_t columns) const;
  void runInPlace(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void runInScratch(int64_t row, int64_t rows, int64_t column, int64_t columns);
  Block blockOf(int64_t row, int64_t rows, int64_t first, int64_t column,
                int64_t columns, const Sums &sums);
  Left leftRows(int64_t row, int64_t rows, int64_t first, int64_t length,
                int64_t columns);
  void packPanels(const Block &block, int64_t from, int64_t to) const;
  void multiply(const Block &block);
  void multiplyPanels(const Block &block, int64_t from, int64_t to) const;
  MicroKernel kernelOf(const Block &block, int64_t rows, int64_t width) const;
  void prefetchLeft(const Left &left, int64_t row, int64_t rows, int64_t from,
                    int64_t to) const;
  bool startsWithBias(const Block &block) const {
    return block.first == 0 && p.bias;
  }
  void fillBias(int64_t column, int64_t columns, float *c, int64_t stride,
                int64_t rows) const;
  void loadSums(int64_t row, int64_t rows, int64_t column, int64_t columns);
  void storeSums(int64_t row, int64_t rows, int64_t column, int64_t columns);

  const GemmDesc &p;
  GemmPacking packing;
  bool execute;
  GemmBuffers buffers;
};

} // namespace shardc::runtime::cpu

#endif

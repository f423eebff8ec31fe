// A tile of a matrix product that is computed transposed, with swapped
// operands.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_TRANSPOSEDGEMMTILE_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_TRANSPOSEDGEMMTILE_H

#include "runtime/cpu/products/GemmPacking.h"

namespace shardc::runtime::cpu {

/// A product of few rows whose b is stored transposed is computed as
/// c^T = b a^T, where b is the left operand: b is read once, where it lies, and
/// only a is packed. With `execute` false the tile's kernels are generated and
/// nothing is computed.
class TransposedGemmTile {
public:
  TransposedGemmTile(const GemmDesc &product, Factors factors, bool execute)
      : p(product), packing{factors}, execute(execute),
        buffers(GemmBuffers::ofThread()) {}

  /// Whether a product is computed this way.
  static bool serves(const GemmDesc &p, Factors factors) {
    GemmPacking packing{factors};
    return p.b.transpose && p.m <= blocking::fewRows && p.n >= 2 * p.m &&
           p.k >= 64 && !packing.isConverted(p.b) &&
           !(packing.hasPairs() && (p.k % 2 || p.b.stride % 2));
  }

  /// The tile is all rows of columns [column, column + columns) of c.
  void run(int64_t column, int64_t columns);

private:
  /// Fills the sums with c or the bias, where the product adds to them.
  void begin(int64_t column, int64_t count);
  /// Adds the product.
  void multiply(int64_t column, int64_t count);
  /// Writes the sums into c.
  void end(int64_t column, int64_t count);

  /// The kernels' number of columns, which are the rows of c, filled up: also
  /// elements from row to row of the sums [columns of c, m] in the scratch, and
  /// of the packed a.
  int64_t width() const {
    return blocking::roundUp(std::max<int64_t>(p.m, fewestColumns), 16);
  }

  const GemmDesc &p;
  GemmPacking packing;
  bool execute;
  GemmBuffers buffers;
};

} // namespace shardc::runtime::cpu

#endif

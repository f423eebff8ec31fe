// The operands of a product as the micro-kernels want them: packed, and
// converted where they must be.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_GEMMPACKING_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_GEMMPACKING_H

#include "runtime/cpu/products/GemmBlocking.h"
#include "runtime/cpu/products/GemmDesc.h"
#include "runtime/cpu/products/MicroKernels.h"

namespace shardc::runtime::cpu {

/// What kernels multiply is `factors`: an operand of another type is converted
/// on the way.
struct GemmPacking {
  Factors factors;

  bool hasPairs() const { return factors == Factors::bfloat16; }
  int64_t elementBytes() const { return hasPairs() ? 2 : 4; }
  /// KC in elements.
  int64_t depth() const { return blocking::sizes().KCBytes / elementBytes(); }
  plan::DType dtype() const {
    return hasPairs() ? plan::BFLOAT16 : plan::FLOAT32;
  }
  bool isConverted(const GemmDesc::Matrix &matrix) const {
    return matrix.dtype != dtype();
  }

  /// Packs a left operand of the kernels, [rows, length]: rows from `row` and
  /// columns from `first` on of op(a). Rows of `to` lie `stride` elements
  /// apart.
  void packLeft(std::byte *to, int64_t stride, const GemmDesc::Matrix &a,
                int64_t row, int64_t rows, int64_t first, int64_t length) const;
  /// Packs a right operand of the kernels, [length, columns]: rows from `first`
  /// and columns from `column` on of op(b). Its stride counts pairs where the
  /// kernels do. Of one panel, panelStride is that stride.
  void packRight(std::byte *to, int64_t stride, int64_t panelStride,
                 const GemmDesc::Matrix &b, int64_t first, int64_t length,
                 int64_t column, int64_t columns) const;
  /// Whether packRight() may have several panels of NR columns, which lie
  /// `panelStride` elements apart. One alone may be wider.
  bool packsPanels(const GemmDesc::Matrix &b) const;
};

} // namespace shardc::runtime::cpu

#endif

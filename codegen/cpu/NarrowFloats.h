// bfloat16 and float16 in kernels: 16 bits in memory and between ops, widened
// to compute and rounded once, to nearest even. Emitted code holds them as i16,
// so that LLVM never sees a 16-bit float to compute with, to convert lane by
// lane through a function of its runtime library, or to keep in excess
// precision between two ops.
#ifndef SHARDC_CODEGEN_CPU_NARROWFLOATS_H
#define SHARDC_CODEGEN_CPU_NARROWFLOATS_H

#include "mlir/IR/Builders.h"

namespace shardc::cpu {

/// Conversions of a scalar or a vector. bfloat16 is converted by integer
/// arithmetic on every CPU: vcvtneps2bf16 would flush subnormal numbers, and
/// bits would depend on the CPU. float16 is converted by F16C's instructions
/// where the CPU has them (`hasF16C`), else by arithmetic with the same bits.
class NarrowFloats {
public:
  NarrowFloats(mlir::OpBuilder &builder, bool hasF16C)
      : builder(builder), hasF16C(hasF16C) {}

  /// `bits` (i16) of the type `from` as `to`, float32 or float64. Exact.
  mlir::Value widen(mlir::Location loc, mlir::Value bits, mlir::Type from,
                    mlir::Type to);
  /// A float32 or float64 rounded once to `to`, as i16. A NaN stays one, with
  /// its sign and the upper bits of its payload.
  mlir::Value narrow(mlir::Location loc, mlir::Value value, mlir::Type to);

private:
  mlir::Value floatFromHalf(mlir::Location loc, mlir::Value bits);
  mlir::Value halfFromFloat(mlir::Location loc, mlir::Value value);
  mlir::Value bfloatFromFloat(mlir::Location loc, mlir::Value value);
  mlir::Value roundToOdd(mlir::Location loc, mlir::Value value);

  mlir::OpBuilder &builder;
  bool hasF16C;
};

} // namespace shardc::cpu

#endif

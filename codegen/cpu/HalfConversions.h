// Lowering of the 16-bit floats (half precision: bfloat16 and float16) in
// kernels. They have 16 bits in memory and between ops, and are widened to
// compute and rounded once, to nearest even. Emitted code holds them as i16, so
// that LLVM never sees a 16-bit float to compute with, to convert lane by lane
// through a function of its runtime library, or to keep in excess precision
// between two ops.
#ifndef SHARDC_CODEGEN_CPU_HALFCONVERSIONS_H
#define SHARDC_CODEGEN_CPU_HALFCONVERSIONS_H

#include "mlir/IR/Builders.h"

namespace shardc::cpu {

/// Emits conversions of a scalar or a vector. bfloat16 is converted by integer
/// arithmetic on every CPU: vcvtneps2bf16 would flush subnormal numbers, and
/// bits would depend on the CPU. float16 is converted by F16C's instructions
/// where the CPU has them (`hasF16C`), else by arithmetic with the same bits.
class HalfConversions {
public:
  HalfConversions(mlir::OpBuilder &builder, bool hasF16C)
      : builder(builder), hasF16C(hasF16C) {}

  /// Converts `bits` (i16) of the type `from` to `to`, float32 or float64,
  /// exactly.
  mlir::Value widen(mlir::Location loc, mlir::Value bits, mlir::Type from,
                    mlir::Type to);
  /// Rounds a float32 or float64 once to `to`, held as i16. A NaN stays one,
  /// with its sign and the upper bits of its payload.
  mlir::Value round(mlir::Location loc, mlir::Value value, mlir::Type to);

private:
  mlir::Value float32FromFloat16(mlir::Location loc, mlir::Value bits);
  mlir::Value float16FromFloat32(mlir::Location loc, mlir::Value value);
  mlir::Value bfloat16FromFloat32(mlir::Location loc, mlir::Value value);
  mlir::Value roundToOdd(mlir::Location loc, mlir::Value value);

  mlir::OpBuilder &builder;
  bool hasF16C;
};

} // namespace shardc::cpu

#endif

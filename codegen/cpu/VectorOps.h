// Scalar ops of linalg bodies as ops on SIMD vectors. Transcendental functions
// are glibc's vector functions (libmvec), for scalars too, so that a value does
// not depend on whether it was computed once per row or once per lane.
#ifndef SHARDC_CODEGEN_CPU_VECTOROPS_H
#define SHARDC_CODEGEN_CPU_VECTOROPS_H

#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/NarrowFloats.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::cpu {

class VectorOps {
public:
  /// `lanes`: elements of a vector; 1 makes everything scalar.
  VectorOps(mlir::OpBuilder &builder, mlir::ModuleOp module, int64_t lanes,
            const VectorTarget &target)
      : builder(builder), module(module), narrowFloats(builder, target.hasF16C),
        lanes(lanes), vectorBytes(target.vectorBytes), hasFma(target.hasFma) {}

  /// Of elements as they are held (heldType); a scalar where there is one lane.
  mlir::Type vectorType(mlir::Type element) const;
  bool isVector(mlir::Value value) const {
    return mlir::isa<mlir::VectorType>(value.getType());
  }
  /// A scalar in every lane; a vector as it is.
  mlir::Value broadcast(mlir::Location loc, mlir::Value value);
  /// 0, 1, 2, ... as i64.
  mlir::Value laneNumbers(mlir::Location loc);
  mlir::Value constant(mlir::Location loc, int64_t value);

  /// An arith or math op on new operands: a vector where one of them is. Null
  /// where the op is not known.
  mlir::Value clone(mlir::Operation *op, mlir::ValueRange operands);
  /// x * y + z, rounded once where the CPU can.
  mlir::Value multiplyAdd(mlir::Location loc, mlir::Value x, mlir::Value y,
                          mlir::Value z);
  bool fusesMultiplyAdd() const { return hasFma; }

private:
  mlir::Value convertNarrow(mlir::Operation *op, mlir::Value operand);
  mlir::Value selectExtremum(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value callVectorFunction(mlir::Location loc, llvm::StringRef function,
                                 mlir::ValueRange operands);
  mlir::Value callNative(mlir::Location loc, llvm::StringRef function,
                         mlir::ValueRange vectors);

  mlir::OpBuilder &builder;
  mlir::ModuleOp module;
  NarrowFloats narrowFloats;
  int64_t lanes, vectorBytes;
  bool hasFma;
};

} // namespace shardc::cpu

#endif

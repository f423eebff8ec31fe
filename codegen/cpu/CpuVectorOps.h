// Ops on SIMD vectors of a CPU. Transcendental functions are glibc's vector
// functions (libmvec), for scalars too, so that a value does not depend on
// whether it was computed once per row or once per lane.
#ifndef SHARDC_CODEGEN_CPU_CPUVECTOROPS_H
#define SHARDC_CODEGEN_CPU_CPUVECTOROPS_H

#include "codegen/cpu/EmitCpuKernel.h"
#include "codegen/cpu/HalfConversions.h"
#include "codegen/kernels/VectorOps.h"

namespace shardc::cpu {

class CpuVectorOps : public kernels::VectorOps {
public:
  /// Functions that are called are declared in `module`.
  CpuVectorOps(mlir::OpBuilder &builder, mlir::ModuleOp module, int64_t lanes,
               const VectorTarget &target)
      : VectorOps(builder, {.lanes = lanes,
                            .indexBits = 64,
                            .aligned = false,
                            .fusesMultiplyAdd = target.hasFma}),
        module(module), halfConversions(builder, target.hasF16C),
        vectorBytes(target.vectorBytes) {}

protected:
  mlir::Value widen(mlir::Location loc, mlir::Value bits, mlir::Type from,
                    mlir::Type to) override {
    return halfConversions.widen(loc, bits, from, to);
  }
  mlir::Value round(mlir::Location loc, mlir::Value value,
                    mlir::Type to) override {
    return halfConversions.round(loc, value, to);
  }
  mlir::Value cloneSpecial(mlir::Operation *op,
                           mlir::ValueRange operands) override;

private:
  mlir::Value selectExtremum(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value callVectorFunction(mlir::Location loc, llvm::StringRef function,
                                 mlir::ValueRange operands);
  mlir::Value callNative(mlir::Location loc, llvm::StringRef function,
                         mlir::ValueRange vectors);

  mlir::ModuleOp module;
  HalfConversions halfConversions;
  int64_t vectorBytes;
};

} // namespace shardc::cpu

#endif

// Emits one kernel's function of linalg on tensors as loops over SIMD vectors
// in the LLVM dialect's memory model.
#ifndef SHARDC_CODEGEN_CPU_EMITCPUKERNEL_H
#define SHARDC_CODEGEN_CPU_EMITCPUKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::cpu {

struct VectorTarget {
  /// The width of a SIMD register: 16, 32 or 64.
  int64_t vectorBytes = 16;
  bool hasFma = false;
  /// Whether there are instructions that convert float16.
  bool hasF16C = false;
};

/// Appends an `llvm.func` of `kernel`'s name to `module` and returns its
/// extent; errors are emitted on `kernel`.
llvm::FailureOr<int64_t> emitCpuKernel(mlir::func::FuncOp kernel,
                                       mlir::ModuleOp module,
                                       const VectorTarget &target);

} // namespace shardc::cpu

#endif

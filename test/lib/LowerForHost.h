// A gpu.func as a function of the host, for emulation.
#ifndef SHARDC_TEST_LIB_LOWERFORHOST_H
#define SHARDC_TEST_LIB_LOWERFORHOST_H

#include "EmulatedThread.h"

#include "codegen/cpu/EmitCpuKernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::test {

/// Appends `void name(void *const *arguments, EmulatedThread *)` to `module`;
/// returns the bytes of shared memory that a block needs.
llvm::FailureOr<int64_t> lowerForHost(mlir::gpu::GPUFuncOp kernel,
                                      mlir::ModuleOp module,
                                      const cpu::VectorTarget &target);

} // namespace shardc::test

#endif

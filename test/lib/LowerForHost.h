// A gpu.func as a function of the host, for emulation.
#ifndef SHARDC_TEST_LIB_LOWERFORHOST_H
#define SHARDC_TEST_LIB_LOWERFORHOST_H

#include "codegen/cpu/EmitKernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::test {

/// What generated code sees of its thread. The layout is fixed: generated code
/// reads it by offsets.
struct EmulatedThread {
  int64_t thread = 0, block = 0;
  /// Shared memory of the block.
  void *shared = nullptr;
  /// gpu.barrier, and gpu.shuffle xor of 32 bits.
  void (*barrier)(EmulatedThread *) = nullptr;
  int32_t (*shuffle)(EmulatedThread *, int32_t bits,
                     int32_t distance) = nullptr;
  /// What the emulator adds is behind.
};

/// Appends `void name(void *const *arguments, EmulatedThread *)` to `module`;
/// returns the bytes of shared memory that a block needs.
llvm::FailureOr<int64_t> lowerForHost(mlir::gpu::GPUFuncOp kernel,
                                      mlir::ModuleOp module,
                                      const cpu::VectorTarget &target);

} // namespace shardc::test

#endif

// One kernel's function of linalg on tensors becomes a gpu.func.
#ifndef SHARDC_CODEGEN_GPU_EMITGPUKERNEL_H
#define SHARDC_CODEGEN_GPU_EMITGPUKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace shardc::gpu {

/// Appends a gpu.func of `kernel`'s name to `module`; errors are emitted on
/// `kernel`.
///
/// Its arguments are base pointers (`!llvm.ptr`) of the inputs, then of the
/// outputs: row-major, contiguous, at multiples of 16 bytes, not overlapping.
/// It runs in the grid and blocks that its attributes `known_grid_size` and
/// `known_block_size` say, of one dimension. Blocks are independent; a sum has
/// one order, which follows from the kernel's shapes alone.
llvm::FailureOr<mlir::gpu::GPUFuncOp>
emitGpuKernel(mlir::func::FuncOp kernel, mlir::gpu::GPUModuleOp module);

/// Says for reports what `emitGpuKernel` made of it: loop, row or column.
llvm::StringRef kindOf(mlir::gpu::GPUFuncOp kernel);

} // namespace shardc::gpu

#endif

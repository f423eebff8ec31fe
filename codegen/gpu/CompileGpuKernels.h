// Compiles the functions of a @kernels module for a GPU, to PTX and, with
// CUDA's toolkit, to cubins.
#ifndef SHARDC_CODEGEN_GPU_COMPILEGPUKERNELS_H
#define SHARDC_CODEGEN_GPU_COMPILEGPUKERNELS_H

#include "codegen/gpu/GpuModel.h"
#include "codegen/kernels/KernelCache.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace shardc::gpu {

struct GpuKernel {
  std::string symbol;
  std::string kind; // loop, row, column
  int64_t grid = 0, block = 0;
  /// It is empty where `refusal` says why there is none.
  std::string ptx;
  std::string refusal;
  /// There is one where there is a ptxas.
  std::optional<Cubin> cubin;
};

struct GpuKernels {
  std::string gpu;
  int capability = 0; // of that GPU: 90 for 9.0
  /// They are in the order of the module's functions.
  std::vector<GpuKernel> kernels;
  /// Why something was not kept in the cache; empty where all was.
  std::string warning;
  double seconds = 0;
};

/// Appends a gpu.module `name` with a gpu.func for each function of `kernels`
/// to `parent`. Functions that GPUs cannot hold are left out; `refuse` is told
/// their names and why.
mlir::gpu::GPUModuleOp emitGpuKernels(
    mlir::ModuleOp kernels, mlir::ModuleOp parent, llvm::StringRef name,
    llvm::function_ref<void(llvm::StringRef kernel, llvm::StringRef why)>
        refuse);

/// Returns the PTX of one gpu.func of a gpu.module, which stays as it is.
llvm::Expected<std::string> compileToPtx(mlir::gpu::GPUFuncOp kernel,
                                         const GpuModel &gpu);

/// Compiles every function of `kernels` (linalg on tensors), which stays as it
/// is. A kernel that cannot be built, or that ptxas refuses, has a `refusal`.
llvm::Expected<GpuKernels>
compileGpuKernels(mlir::ModuleOp kernels, const GpuModel &gpu,
                  const CudaToolkit &toolkit,
                  const kernels::KernelCache &cache = {});

} // namespace shardc::gpu

#endif

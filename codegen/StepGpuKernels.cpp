// step-gpu-kernels: the functions of @kernels once more, for a GPU.
#include "codegen/Passes.h"
#include "codegen/gpu/CompileGpuKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_STEPGPUKERNELS
#include "codegen/Passes.h.inc"

namespace {

struct StepGpuKernels : impl::StepGpuKernelsBase<StepGpuKernels> {
  using StepGpuKernelsBase::StepGpuKernelsBase;

  void runOnOperation() override {
    auto target = gpu::GpuModel::resolve(chip);
    if (!target)
      return fail(target.takeError());
    ModuleOp module = getOperation();
    auto kernels = module.lookupSymbol<ModuleOp>("kernels");
    if (!kernels)
      return fail(llvm::createStringError(
          "expects a module @kernels; run step-outline-kernels first"));
    bool refused = false;
    mlir::gpu::GPUModuleOp made = gpu::emitGpuKernels(
        kernels, module, "gpu_kernels", [&](StringRef kernel, StringRef why) {
          refused = true;
          kernels.lookupSymbol(kernel)->emitError(why);
        });
    if (refused)
      return signalPassFailure();
    if (!ptx)
      return;
    gpu::CudaToolkit toolkit = gpu::CudaToolkit::find();
    for (auto kernel : made.getOps<mlir::gpu::GPUFuncOp>()) {
      auto text = gpu::compileToPtx(kernel, *target);
      if (!text)
        return fail(text.takeError());
      llvm::outs() << *text;
    }
    llvm::outs().flush();
  }

private:
  void fail(llvm::Error error) {
    getOperation().emitError() << llvm::toString(std::move(error));
    signalPassFailure();
  }
};

} // namespace
} // namespace shardc

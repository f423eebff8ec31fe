// Outlining, and the two ways to run what comes of it.
#include "KernelProgram.h"

#include "codegen/Passes.h"
#include "codegen/cpu/CompileCpuKernels.h"
#include "codegen/gpu/CompileGpuKernels.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace shardc::test {

std::optional<KernelProgram>
KernelProgram::compile(ModuleOp module, const KernelSettings &settings) {
  KernelProgram program(module.clone());
  PassManager outline(module.getContext(), ModuleOp::getOperationName());
  outline.addPass(createStepOutlineKernels({settings.fuse}));
  if (failed(outline.run(program.outlined())))
    return std::nullopt;
  llvm::Error error = !settings.emulatePtx.empty()
                          ? program.emulatePtx(settings.emulatePtx)
                      : settings.emulateGpu ? program.emulate(settings)
                                            : program.compileForHost(settings);
  if (error) {
    module.emitError() << llvm::toString(std::move(error));
    return std::nullopt;
  }
  return program;
}

llvm::Error KernelProgram::compileForHost(const KernelSettings &settings) {
  cpu::CpuOptions options;
  options.cpu = settings.cpu;
  llvm::Expected<cpu::CompiledObject> compiled = cpu::compileCpuKernels(
      outlined().lookupSymbol<ModuleOp>("kernels"), options);
  if (!compiled)
    return compiled.takeError();
  llvm::Expected<LoadedKernels> library =
      LoadedKernels::load(compiled->sharedObject);
  if (!library)
    return library.takeError();
  loaded.emplace(std::move(*library));
  for (const cpu::KernelInfo &info : compiled->kernels)
    if (loaded->find(info.symbol))
      extents[info.symbol] = info.extent;
  compileSeconds = compiled->seconds;
  return llvm::Error::success();
}

llvm::Error KernelProgram::emulate(const KernelSettings &settings) {
  std::string refusals;
  OwningOpRef<ModuleOp> parent = ModuleOp::create(outlined().getLoc());
  mlir::gpu::GPUModuleOp kernels =
      gpu::emitGpuKernels(outlined().lookupSymbol<ModuleOp>("kernels"), *parent,
                          "kernels", [&](StringRef kernel, StringRef why) {
                            refusals += (refusals.empty() ? "" : "; ") +
                                        (kernel + ": " + why).str();
                          });
  if (!refusals.empty())
    return llvm::createStringError(refusals);
  if (failed(mlir::verify(kernels)))
    return llvm::createStringError("the kernels for the GPU are not valid");
  auto compiled = EmulatedKernels::compile(kernels, settings.cpu);
  if (!compiled)
    return compiled.takeError();
  emulated.emplace(std::move(*compiled));
  for (auto function : kernels.getOps<mlir::gpu::GPUFuncOp>())
    extents[function.getName()] = emulated->grid(function.getName());
  return llvm::Error::success();
}

llvm::Error KernelProgram::emulatePtx(StringRef gpu) {
  auto model = gpu::GpuModel::resolve(gpu);
  if (!model)
    return model.takeError();
  gpu::CudaToolkit toolkit = gpu::CudaToolkit::find();
  toolkit.ptxas.clear(); // nothing is assembled
  auto compiled = gpu::compileGpuKernels(
      outlined().lookupSymbol<ModuleOp>("kernels"), *model, toolkit);
  if (!compiled)
    return compiled.takeError();
  auto kernels = EmulatedKernels::fromPtx(*compiled);
  if (!kernels)
    return kernels.takeError();
  emulated.emplace(std::move(*kernels));
  for (const gpu::GpuKernel &kernel : compiled->kernels)
    extents[kernel.symbol] = kernel.grid;
  return llvm::Error::success();
}

llvm::Error KernelProgram::run(StringRef kernel, std::vector<void *> arguments,
                               int64_t begin, int64_t end, bool falling) const {
  if (loaded) {
    loaded->find(kernel.str())(arguments.data(), begin, end);
    return llvm::Error::success();
  }
  for (int64_t block = begin; block < end; ++block)
    if (llvm::Error error =
            emulated->runBlock(kernel, arguments.data(), block, falling))
      return error;
  return llvm::Error::success();
}

} // namespace shardc::test

// Trainers that run on NVIDIA GPUs.
#ifndef SHARDC_CODEGEN_GPU_GPUTARGET_H
#define SHARDC_CODEGEN_GPU_GPUTARGET_H

#include "codegen/Target.h"
#include "codegen/gpu/GpuModel.h"
#include "codegen/gpu/GpuWorkspaces.h"

namespace shardc::gpu {

class GpuTarget final : public Target {
public:
  static llvm::Expected<std::unique_ptr<Target>>
  create(llvm::StringRef model, const kernels::KernelCache &cache);

  std::string name() const override { return "cuda:" + model.name; }
  const step::Workspaces &workspaces() const override { return scratch; }
  /// Kernels load and store 16 bytes at once.
  int64_t argumentAlignment() const override { return 16; }
  /// As allocations of CUDA's driver.
  int64_t bufferAlignment() const override { return 256; }
  bool mergesProducts() const override { return true; }
  llvm::StringRef defaultCluster() const override { return "dgx-h100"; }
  llvm::StringRef defaultPrefetch() const override { return "auto"; }
  std::unique_ptr<KernelCompilation>
  compile(mlir::ModuleOp kernels) const override;

private:
  GpuTarget(GpuModel of, const kernels::KernelCache &cache)
      : model(std::move(of)), scratch(model.capability), cache(cache) {}

  GpuModel model;
  GpuWorkspaces scratch;
  kernels::KernelCache cache;
};

} // namespace shardc::gpu

#endif

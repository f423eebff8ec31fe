// Trainers that run on x86-64 processors.
#ifndef SHARDC_CODEGEN_CPU_CPUTARGET_H
#define SHARDC_CODEGEN_CPU_CPUTARGET_H

#include "codegen/Target.h"
#include "codegen/cpu/CpuModel.h"
#include "codegen/cpu/CpuWorkspaces.h"

namespace shardc::cpu {

class CpuTarget final : public Target {
public:
  static llvm::Expected<std::unique_ptr<Target>>
  create(llvm::StringRef model, int64_t workers,
         const kernels::KernelCache &cache);

  std::string name() const override { return "cpu:" + model.name; }
  const step::Workspaces &workspaces() const override { return scratch; }
  int64_t argumentAlignment() const override { return 1; }
  /// A cache line.
  int64_t bufferAlignment() const override { return 64; }
  bool mergesProducts() const override { return false; }
  llvm::StringRef defaultCluster() const override { return "cpu"; }
  llvm::StringRef defaultPrefetch() const override { return "1"; }
  std::unique_ptr<KernelCompilation>
  compile(mlir::ModuleOp kernels) const override;

private:
  CpuTarget(CpuModel model, int64_t workers, const kernels::KernelCache &cache)
      : model(std::move(model)), workers(workers), scratch(workers),
        cache(cache) {}

  CpuModel model;
  int64_t workers;
  CpuWorkspaces scratch;
  kernels::KernelCache cache;
};

} // namespace shardc::cpu

#endif

// The phases kernels and plan as pipelines: passes/Pipelines.h goes on here.
#ifndef SHARDC_CODEGEN_PIPELINES_H
#define SHARDC_CODEGEN_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace shardc {

/// --phase-kernels: generated code becomes functions of @kernels.
struct KernelsPhaseOptions : mlir::PassPipelineOptions<KernelsPhaseOptions> {
  Option<bool> fuseProducts{
      *this, "fuse-products",
      llvm::cl::desc("products of the target's library add residuals and sum "
                     "bias gradients"),
      llvm::cl::init(false)};
};
void buildKernelsPhase(mlir::OpPassManager &passes,
                       const KernelsPhaseOptions &options);

/// --phase-plan: tensors become views of planned memory, ops entries of a plan.
struct PlanPhaseOptions : mlir::PassPipelineOptions<PlanPhaseOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("what the trainer runs on"),
                             llvm::cl::init("cpu")};
  Option<int64_t> workers{
      *this, "workers",
      llvm::cl::desc("threads of one rank that workspaces are sized for"),
      llvm::cl::init(1)};
  Option<std::string> prefetch{*this, "prefetch",
                               llvm::cl::desc("see step-schedule"),
                               llvm::cl::init("1")};
  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("the machine of the cost model"),
                              llvm::cl::init("cpu")};
  Option<std::string> memoryLimit{*this, "memory-limit",
                                  llvm::cl::desc("see step-schedule"),
                                  llvm::cl::init("")};
  Option<std::string> offload{*this, "offload",
                              llvm::cl::desc("see step-offload"),
                              llvm::cl::init("none")};
};
void buildPlanPhase(mlir::OpPassManager &passes,
                    const PlanPhaseOptions &options);

/// Makes the two known by their names.
void registerShardcCodegenPipelines();

} // namespace shardc

#endif

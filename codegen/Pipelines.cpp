// The phases kernels and plan.
#include "codegen/Pipelines.h"

#include "codegen/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace shardc {

void buildKernelsPhase(OpPassManager &passes,
                       const KernelsPhaseOptions &options) {
  if (options.fuseProducts)
    passes.addPass(createStepFuseProducts());
  passes.addPass(createStepOutlineKernels());
}

void buildPlanPhase(OpPassManager &passes, const PlanPhaseOptions &options) {
  passes.addPass(createStepLower({options.target, options.workers}));
  passes.addPass(createStepWriteInPlace());
  // It needs the step's order, and the schedule and the memory need it.
  StepOffloadOptions offload;
  offload.offload = options.offload;
  offload.cluster = options.cluster;
  offload.memoryLimit = options.memoryLimit;
  passes.addPass(createStepOffload(offload));
  // Behind what decides who shares a buffer, before these get their places.
  passes.addPass(createStepSchedule(
      {options.prefetch, options.cluster, options.memoryLimit}));
  // Gathers have their places.
  passes.addPass(createStepStageParameters({options.cluster}));
  passes.addPass(createStepPlanMemory());
  passes.addPass(createStepVerify());
}

void registerShardcCodegenPipelines() {
  PassPipelineRegistration<KernelsPhaseOptions>(
      "phase-kernels", "shardc's phase kernels: generated code apart",
      buildKernelsPhase);
  PassPipelineRegistration<PlanPhaseOptions>(
      "phase-plan", "shardc's phase plan: entries on planned memory",
      buildPlanPhase);
}

} // namespace shardc

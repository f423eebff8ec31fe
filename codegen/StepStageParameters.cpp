// step-stage-parameters: slices in the pool host come before they are gathered.
#include "codegen/Passes.h"
#include "codegen/offload/ParameterStaging.h"

namespace shardc {
#define GEN_PASS_DEF_STEPSTAGEPARAMETERS
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct StepStageParameters
    : impl::StepStageParametersBase<StepStageParameters> {
  using StepStageParametersBase::StepStageParametersBase;

  void runOnOperation() override {
    auto machine = Cluster::load(cluster);
    if (!machine) {
      getOperation().emitError(llvm::toString(machine.takeError()));
      return signalPassFailure();
    }
    for (auto plan : getOperation().getOps<step::PlanOp>())
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
        offload::stageParameters(plan, program, *machine);
  }
};
} // namespace
} // namespace shardc

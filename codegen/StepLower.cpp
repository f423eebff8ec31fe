// step-lower: functions on tensors become one step.plan of entries on views of
// buffers.
#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/lower/ProgramLowering.h"

namespace shardc {
#define GEN_PASS_DEF_STEPLOWER
#include "codegen/Passes.h.inc"

namespace {
struct StepLower : impl::StepLowerBase<StepLower> {
  using StepLowerBase::StepLowerBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    llvm::SmallVector<mlir::func::FuncOp> functions;
    for (llvm::StringRef name : {"train", "eval"})
      if (auto function = module.lookupSymbol<mlir::func::FuncOp>(name))
        functions.push_back(function);
    if (functions.empty()) {
      module.emitError() << "has no function @train or @eval to lower";
      return signalPassFailure();
    }

    auto resolved = Target::resolve(target, {"native", workers, {}});
    if (!resolved) {
      module.emitError() << llvm::toString(resolved.takeError());
      return signalPassFailure();
    }
    PlanBuilder plan(module, **resolved);
    if (failed(plan.addUnits(functions)))
      return signalPassFailure();
    for (mlir::func::FuncOp function : functions)
      if (failed(ProgramLowering(plan, function).run()))
        return signalPassFailure();
    for (mlir::func::FuncOp function : functions)
      function.erase();
  }
};
} // namespace
} // namespace shardc

// What a step does when its gradients are reduced: of fsdp-shard.
#ifndef SHARDC_PASSES_FSDP_FINISHSTEP_H
#define SHARDC_PASSES_FSDP_FINISHSTEP_H

#include "passes/fsdp/Groups.h"
#include "passes/fsdp/Reductions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::fsdp {

/// How trained parameters are updated: an optimizer of
/// runtime/device/Optimizers.h, and the steps of the iteration of one that
/// takes whole matrices.
struct UpdateRule {
  llvm::StringRef optimizer;
  int64_t newtonSchulzSteps;
};

/// Puts the norm of the reduced gradients, the all-reduces of loss and norm,
/// metrics and the optimizer in place of what `function` returns, of which the
/// loss is the first; without gradients, outputs in place of the optimizer.
void finishStep(mlir::func::FuncOp function, MeshOp mesh, Groups groups,
                llvm::ArrayRef<Reduction> reductions, UpdateRule rule);

} // namespace shardc::fsdp

#endif

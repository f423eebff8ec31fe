// What a step does when its gradients are reduced: of fsdp-shard.
#ifndef SHARDC_PASSES_SHARD_FINISHSTEP_H
#define SHARDC_PASSES_SHARD_FINISHSTEP_H

#include "passes/shard/Groups.h"
#include "passes/shard/Reductions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::fsdp {

/// How trained parameters are updated: an optimizer of
/// runtime/device/Optimizers.h, the steps of the iteration of one that takes
/// whole matrices, and whether each unit is updated in backward, when its
/// gradient is reduced and nothing reads the unit any more, without the norm.
struct UpdateRule {
  llvm::StringRef optimizer;
  int64_t newtonSchulzSteps;
  bool inBackward = false;
};

/// Puts the norm of the reduced gradients, the all-reduces of loss and norm,
/// metrics and the optimizer in place of what `function` returns, of which the
/// loss is the first; without gradients, outputs in place of the optimizer.
/// With updates in backward the loss is all-reduced before the first.
void finishStep(mlir::func::FuncOp function, MeshOp mesh, Groups groups,
                llvm::ArrayRef<Reduction> reductions, UpdateRule rule);

} // namespace shardc::fsdp

#endif

// Where a function reads its parameters, seen through ops that only look at
// them in another way.
#ifndef SHARDC_PASSES_ANALYSES_PARAMETERUSES_H
#define SHARDC_PASSES_ANALYSES_PARAMETERUSES_H

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc {

/// Whether the op's result shares its operand's elements in memory: reshape,
/// transpose, slice.
bool isView(mlir::Operation *op);

/// Whether the op is so cheap that it is done again where its result is used,
/// rather than kept: views, and the conversions that fuse into their user
/// (broadcast, cast).
bool isCheapToRepeat(mlir::Operation *op);

/// The parameters that an op reads, through such ops.
llvm::SmallVector<mlir::StringAttr> parametersOf(mlir::Operation *op);

/// The parameters that a function reads. A chain of cheap ops on a parameter
/// counts as the parameter; its use is the first op that computes with it.
class ParameterUses {
public:
  explicit ParameterUses(mlir::func::FuncOp function);

  struct Use {
    mlir::OpOperand *operand;   // of an op that is no link of a chain
    mlir::StringAttr parameter; // symbol of the nn.parameter
  };
  /// In the order of the ops.
  llvm::ArrayRef<Use> uses() const & { return inOrder; }
  llvm::ArrayRef<Use> uses() && = delete;

  /// Names of the parameters that are used, by first use.
  llvm::SmallVector<mlir::StringAttr> byFirstUse() const;

private:
  llvm::SmallVector<Use> inOrder;
};

} // namespace shardc

#endif

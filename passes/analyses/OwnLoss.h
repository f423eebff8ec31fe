// A loss that the graph computes itself: what it is made of.
#ifndef SHARDC_PASSES_ANALYSES_OWNLOSS_H
#define SHARDC_PASSES_ANALYSES_OWNLOSS_H

#include "mlir/IR/Operation.h"

namespace shardc {

/// What a loss node of the graph was told to make of its labels' losses
/// (`nn.reduction`); empty where the op has none, or there is no op.
llvm::StringRef reductionOf(mlir::Operation *op);

/// A scalar as factor * value, behind views, conversions and constants.
struct OwnLoss {
  mlir::Value value;
  double factor = 1;
  /// Whether it is what a loss node of the graph was to add up. One that is
  /// divided is some mean over this batch.
  bool isSum = false;

  static OwnLoss of(mlir::Value output);
};

} // namespace shardc

#endif

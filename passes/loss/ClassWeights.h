// Weights of the classes of a cross entropy.
#ifndef SHARDC_PASSES_LOSS_CLASSWEIGHTS_H
#define SHARDC_PASSES_LOSS_CLASSWEIGHTS_H

#include "passes/options/LossOption.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace shardc {

/// A constant [weights] of an element type; null without weights.
mlir::Value classWeightsConstant(llvm::ArrayRef<double> weights,
                                 mlir::Type element, mlir::OpBuilder &builder);

/// The numbers of a constant, as its type has them; none of anything else, and
/// of null.
llvm::SmallVector<double> classWeightsOf(mlir::Value weights);

/// That there is one weight for each class of the logits, of class-weights, and
/// of pos-weight, where it has several; else an error that says both numbers.
llvm::LogicalResult checkWeights(const LossOption &option, mlir::Value logits);

} // namespace shardc

#endif

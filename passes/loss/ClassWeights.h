// Weights of the classes of a cross entropy.
#ifndef SHARDC_PASSES_LOSS_CLASSWEIGHTS_H
#define SHARDC_PASSES_LOSS_CLASSWEIGHTS_H

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

} // namespace shardc

#endif

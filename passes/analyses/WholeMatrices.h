// Which parameters an optimizer of whole matrices updates as such.
#ifndef SHARDC_PASSES_ANALYSES_WHOLEMATRICES_H
#define SHARDC_PASSES_ANALYSES_WHOLEMATRICES_H

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// The trained matrices of the model's hidden layers: parameters of two dims
/// and the role `weight`, but for those of the head, behind which on every way
/// to the loss of `forward` (which returns it first) no other matrix is. Or,
/// where there are `patterns`, the trained parameters of two dims in whose
/// names one of these regular expressions is found. Reports an error for a
/// pattern that finds none, and where there is none at all.
mlir::FailureOr<llvm::DenseSet<mlir::Operation *>>
wholeMatrices(mlir::ModuleOp module, mlir::func::FuncOp forward,
              llvm::ArrayRef<std::string> patterns);

} // namespace shardc

#endif

// The functions of a module that is differentiated, and what a run gives them.
#ifndef SHARDC_PASSES_TRAINFUNCTIONS_H
#define SHARDC_PASSES_TRAINFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc {

struct TrainFunctions {
  mlir::func::FuncOp train, eval;
};

/// Reports an error where one is missing.
mlir::FailureOr<TrainFunctions> trainFunctions(mlir::ModuleOp module);

/// Appends an argument that a run fills with numbers of its own; its name is its
/// role.
mlir::Value addRunInput(mlir::func::FuncOp function, llvm::StringRef role,
                        mlir::Type type);

} // namespace shardc

#endif

// Classes of ops under the names that --remat class: takes.
#ifndef SHARDC_PASSES_ANALYSES_OPCLASSES_H
#define SHARDC_PASSES_ANALYSES_OPCLASSES_H

#include "mlir/IR/Operation.h"

namespace shardc {

/// One of rematClasses; empty for an op that belongs to none
/// (losses, views).
llvm::StringRef classOf(mlir::Operation *op);

/// Whether it is an nn op that is no generated code: a call of the target's
/// library, or what is there before any code (a constant, a parameter). A concat
/// and a pad are generated code, though they are calls where their places are
/// many: `nn::LibraryCall` holds for them, and not for constants.
bool hasNoKernel(mlir::Operation *op);

} // namespace shardc

#endif

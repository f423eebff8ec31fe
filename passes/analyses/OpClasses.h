// Classes of ops under the names that --remat class: takes.
#ifndef SHARDC_PASSES_ANALYSES_OPCLASSES_H
#define SHARDC_PASSES_ANALYSES_OPCLASSES_H

#include "mlir/IR/Operation.h"

namespace shardc {

/// One of rematClasses; empty for an op that belongs to none
/// (losses, views).
llvm::StringRef classOf(mlir::Operation *op);

/// Whether it is a call of the target's library rather than generated code.
bool isLibraryCall(mlir::Operation *op);

} // namespace shardc

#endif

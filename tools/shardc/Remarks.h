// --remarks: why passes decided as they did.
#ifndef SHARDC_TOOLS_SHARDC_REMARKS_H
#define SHARDC_TOOLS_SHARDC_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// The passes that have remarks; a remark's category is its pass's name.
llvm::ArrayRef<llvm::StringRef> passesWithRemarks();

/// From now on the passes in whose names the regular expression is found give
/// their remarks as MLIR's diagnostics, each "PASS: message". The error is of
/// an expression that is none, or is found in no name of a pass with remarks.
llvm::Error enableRemarks(mlir::MLIRContext &context,
                          llvm::StringRef expression);

} // namespace shardc

#endif

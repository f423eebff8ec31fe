// The mesh as the command line gives it.
#ifndef SHARDC_PASSES_ANALYSIS_MESH_H
#define SHARDC_PASSES_ANALYSIS_MESH_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// More ranks than any run has; what is above is a typing error.
constexpr int64_t mostRanks = int64_t(1) << 20;

/// Sizes of the mesh's dimensions, outermost first, from "N" or "RxS". The
/// error is one line that names the text given.
llvm::Expected<llvm::SmallVector<int64_t>> parseMesh(llvm::StringRef text);

/// Success where `strategy` is one that there is: full, none. Else one line
/// that lists them.
llvm::Error checkStrategy(llvm::StringRef strategy);

} // namespace shardc

#endif

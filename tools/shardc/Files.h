// Files that shardc writes besides the trainer, and where shardc itself lies.
#ifndef SHARDC_TOOLS_SHARDC_FILES_H
#define SHARDC_TOOLS_SHARDC_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace shardc {

/// Writes `text` to a temporary file beside `path` and renames it: `path` is
/// whole, or what it was.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text);

/// The running executable.
std::string programPath();

} // namespace shardc

#endif

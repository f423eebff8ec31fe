// Names and expressions that say which modules are meant, as --units and --remat
// take them.
#ifndef SHARDC_PASSES_OPTIONS_SELECTION_H
#define SHARDC_PASSES_OPTIONS_SELECTION_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace shardc {

/// Adds the names of "NAME,NAME". Returns what is wrong with them, or nothing.
std::string parseNames(llvm::StringRef list, std::vector<std::string> &names);

/// What is wrong with an expression, or nothing: llvm::Regex takes it after
/// `translatePattern`.
std::string complaintOf(llvm::StringRef pattern);

} // namespace shardc

#endif

// What --units says.
#ifndef SHARDC_PASSES_OPTIONS_UNITSOPTION_H
#define SHARDC_PASSES_OPTIONS_UNITSOPTION_H

#include "frontend/nn/support/NamePattern.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc {

/// `auto`, `block`, `one`, `class:A,B`, `scope:REGEX` or `size:100MB`.
struct UnitsOption {
  enum Kind { Auto, Block, One, Class, Scope, Size };

  Kind kind = Auto;
  std::vector<std::string> classes; // Class: names as given
  std::string pattern;              // Scope: as given
  double bytes = 0;                 // Size: of the gathered parameters

  /// Errors are one line that names the offending part and the accepted forms.
  /// The pattern is a valid expression for llvm::Regex after
  /// `translatePattern`.
  static llvm::Expected<UnitsOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif

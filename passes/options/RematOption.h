// What --remat says.
#ifndef SHARDC_PASSES_OPTIONS_REMATOPTION_H
#define SHARDC_PASSES_OPTIONS_REMATOPTION_H

#include "frontend/nn/support/NamePattern.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc {

/// `none`, `cheap`, `all`, `selective`, `unit`, `budget=SIZE`, `time=PERCENT`,
/// `class:NAME[,NAME]`, `scope:REGEX`, or `pareto`, which compares the others.
struct RematOption {
  enum Kind {
    None,
    Cheap,
    All,
    Selective,
    Unit,
    Budget,
    Time,
    Class,
    Scope,
    Pareto
  };

  Kind kind = Cheap;
  double bytes = 0;                 // Budget: that backward keeps
  double share = 0;                 // Time: of the step's arithmetic
  std::vector<std::string> classes; // Class: of rematClasses
  std::string pattern;              // Scope: as given

  /// Errors are one line that names the offending part and the accepted forms.
  /// The pattern is a valid expression for llvm::Regex after
  /// `translatePattern`.
  static llvm::Expected<RematOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif

// What --offload says.
#ifndef SHARDC_PASSES_OPTIONS_OFFLOADOPTION_H
#define SHARDC_PASSES_OPTIONS_OFFLOADOPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// `none`; `optimizer`: master weights and optimizer state lie in the pool host;
/// `auto`: they do where a rank's memory does not hold the step otherwise.
struct OffloadOption {
  enum Kind { None, Optimizer, Auto };
  Kind kind = None;

  /// Errors are one line with what was given and the accepted forms.
  static llvm::Expected<OffloadOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif

// What --offload says.
#ifndef SHARDC_PASSES_OPTIONS_OFFLOADOPTION_H
#define SHARDC_PASSES_OPTIONS_OFFLOADOPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>

namespace shardc {

/// `none`; `auto`: what a rank's memory does not hold the step without; or, with
/// commas between them, `optimizer[=SIZE]` (master weights and optimizer state),
/// `activations[=SIZE]` (values that backward reads) and `parameters[=SIZE]` (the
/// rank's slices, which gathers bring together). They lie in the pool host.
struct OffloadOption {
  /// Without a SIZE: of the optimizer and the parameters everything, of
  /// activations those whose transfers nothing waits for.
  static constexpr int64_t all = std::numeric_limits<int64_t>::max();

  bool isAuto = false;
  /// At most so many bytes of a rank leave; 0: they stay.
  int64_t optimizer = 0, activations = 0, parameters = 0;

  bool isNone() const {
    return !isAuto && !optimizer && !activations && !parameters;
  }

  /// Errors are one line with what was given and the accepted forms.
  static llvm::Expected<OffloadOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif

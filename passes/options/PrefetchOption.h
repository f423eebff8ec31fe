// What --prefetch says.
#ifndef SHARDC_PASSES_OPTIONS_PREFETCHOPTION_H
#define SHARDC_PASSES_OPTIONS_PREFETCHOPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace shardc {

/// `auto`: as the cost model says, gather by gather; `N`, or
/// `forward=N,backward=M`: so many units ahead, each 0 to 64.
struct PrefetchOption {
  bool isAuto = false;
  int64_t forward = 1, backward = 1; // where it is auto, what is begun with

  /// Errors are one line with what was given and the accepted forms.
  static llvm::Expected<PrefetchOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif

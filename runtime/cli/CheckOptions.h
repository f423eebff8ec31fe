// Flags that contradict each other.
#ifndef SHARDC_RUNTIME_CLI_CHECKOPTIONS_H
#define SHARDC_RUNTIME_CLI_CHECKOPTIONS_H

#include "runtime/cli/Options.h"

#include <functional>

namespace shardc::runtime::cli {

/// What needs no plan. Throws an Error. `given`: whether a flag stands on the
/// command line.
void checkCombinations(const Options &options,
                       const std::function<bool(const char *)> &given);

} // namespace shardc::runtime::cli

#endif

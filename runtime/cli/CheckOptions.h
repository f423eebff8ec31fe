// Flags that contradict each other.
#ifndef SHARDC_RUNTIME_CLI_CHECKOPTIONS_H
#define SHARDC_RUNTIME_CLI_CHECKOPTIONS_H

#include "runtime/cli/Options.h"

namespace shardc::runtime::cli {

/// What needs no plan: flags that exclude each other, and flags that change
/// nothing beside the others. Throws an Error.
void checkCombinations(const Options &options);

} // namespace shardc::runtime::cli

#endif

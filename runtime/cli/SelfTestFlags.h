// The flags of --selftest.
#ifndef SHARDC_RUNTIME_CLI_SELFTESTFLAGS_H
#define SHARDC_RUNTIME_CLI_SELFTESTFLAGS_H

#include "runtime/flags/FlagTable.h"
#include "runtime/train/Options.h"

namespace shardc::runtime::cli {

void declareSelfTest(FlagTable &flags, Options &options);

/// Throws an Error for flags that a self-test does not use, and for those of a
/// self-test without one.
void checkSelfTest(const FlagTable &flags, const Options &options);

} // namespace shardc::runtime::cli

#endif

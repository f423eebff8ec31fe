// The flags of what a run prints and writes.
#ifndef SHARDC_RUNTIME_CLI_OUTPUTFLAGS_H
#define SHARDC_RUNTIME_CLI_OUTPUTFLAGS_H

#include "runtime/flags/FlagTable.h"
#include "runtime/train/Options.h"

namespace shardc::runtime::cli {

void declareOutput(FlagTable &flags, Options &options);

} // namespace shardc::runtime::cli

#endif

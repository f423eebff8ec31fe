// The flags of checkpoints, and of a run that goes on.
#ifndef SHARDC_RUNTIME_CLI_CHECKPOINTFLAGS_H
#define SHARDC_RUNTIME_CLI_CHECKPOINTFLAGS_H

#include "runtime/flags/FlagTable.h"
#include "runtime/train/Options.h"

namespace shardc::runtime::cli {

void declareCheckpoints(FlagTable &flags, Options &options);

} // namespace shardc::runtime::cli

#endif

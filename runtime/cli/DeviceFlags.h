// The flags of what ranks run on, and how.
#ifndef SHARDC_RUNTIME_CLI_DEVICEFLAGS_H
#define SHARDC_RUNTIME_CLI_DEVICEFLAGS_H

#include "runtime/flags/FlagTable.h"
#include "runtime/train/Options.h"

namespace shardc::runtime::cli {

void declareDevice(FlagTable &flags, Options &options);

} // namespace shardc::runtime::cli

#endif

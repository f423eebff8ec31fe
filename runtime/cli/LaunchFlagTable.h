// The flags that say which processes a run has.
#ifndef SHARDC_RUNTIME_CLI_LAUNCHFLAGTABLE_H
#define SHARDC_RUNTIME_CLI_LAUNCHFLAGTABLE_H

#include "runtime/flags/FlagTable.h"
#include "runtime/launch/Launch.h"

namespace shardc::runtime::cli {

/// Declares them; detectLaunch() is what looks at them together.
void declareLaunch(FlagTable &flags, LaunchFlags &launch);

} // namespace shardc::runtime::cli

#endif

// The flags of the learning rate and its schedule.
#ifndef SHARDC_RUNTIME_CLI_SCHEDULEFLAGS_H
#define SHARDC_RUNTIME_CLI_SCHEDULEFLAGS_H

#include "runtime/flags/FlagTable.h"
#include "runtime/train/Options.h"

namespace shardc::runtime::cli {

void declareSchedule(FlagTable &flags, Options &options);

/// Throws an Error for a flag that the schedule does not use, and for numbers
/// that contradict each other.
void checkSchedule(const Options &options);

} // namespace shardc::runtime::cli

#endif

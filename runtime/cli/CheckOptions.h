// Flags that contradict each other, or the plan.
#ifndef SHARDC_RUNTIME_CLI_CHECKOPTIONS_H
#define SHARDC_RUNTIME_CLI_CHECKOPTIONS_H

#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"

namespace shardc::runtime {

/// Throws an Error for a flag that this plan cannot honour, with the reason.
void checkOptions(const Options &options, const plan::Plan &plan,
                  const DeviceTraits &device);

namespace cli {

/// What needs no plan: flags that exclude each other, and flags that change
/// nothing beside the others. Throws an Error.
void checkCombinations(const Options &options);

} // namespace cli
} // namespace shardc::runtime

#endif

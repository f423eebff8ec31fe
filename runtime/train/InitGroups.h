// --init-group: distributions of initial values by parameter names.
#ifndef SHARDC_RUNTIME_TRAIN_INITGROUPS_H
#define SHARDC_RUNTIME_TRAIN_INITGROUPS_H

#include "runtime/train/Options.h"
#include "runtime/weights/RandomParameters.h"

#include <optional>
#include <vector>

namespace shardc::runtime {

/// By parameter of the plan: what the first group that matches says; none where
/// no group does. Throws an Error for a group that gets no parameter, and for a
/// distribution that a parameter's shape does not have.
std::vector<std::optional<Distribution>>
initDistributions(const Options &options, const plan::Plan &plan);

} // namespace shardc::runtime

#endif

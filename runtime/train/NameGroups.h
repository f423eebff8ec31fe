// Groups of parameters that flags make by regexes on names.
#ifndef SHARDC_RUNTIME_TRAIN_NAMEGROUPS_H
#define SHARDC_RUNTIME_TRAIN_NAMEGROUPS_H

#include "runtime/plan.pb.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// By parameter of the plan: the first regex that is found in its name, -1 for
/// none. Only those that `counts` are asked; `what` they are: "trained
/// parameter". Throws an Error for a regex that gets none, with `flag`.
std::vector<int>
matchNames(const char *flag, const std::vector<std::string> &matches,
           const plan::Plan &plan, const char *what,
           const std::function<bool(const plan::Parameter &)> &counts);

} // namespace shardc::runtime

#endif

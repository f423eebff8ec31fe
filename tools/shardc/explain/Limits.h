// Which plans of the same bits take less memory: planned, not estimated.
#ifndef SHARDC_TOOLS_SHARDC_EXPLAIN_LIMITS_H
#define SHARDC_TOOLS_SHARDC_EXPLAIN_LIMITS_H

#include "passes/report/Report.h"
#include "tools/shardc/Options.h"

#include <functional>
#include <optional>
#include <string>

namespace shardc {

/// Plans the same model with other options; nothing where that is an error.
using PlanAgain =
    std::function<std::optional<CompileReport>(const Options &changed)>;

/// What would take less than the plan that `report` is of, by flag, and the
/// smallest --memory-limit among these, once a plan has kept to it.
std::string smallerPlans(const Options &options, const CompileReport &report,
                         const PlanAgain &planAgain);

/// Whether `options.size` suffices for the plan that `report` is of; if not,
/// the quickest that fits, once it was planned under that limit.
std::string outOfMemory(const Options &options, const CompileReport &report,
                        const PlanAgain &planAgain);

} // namespace shardc

#endif

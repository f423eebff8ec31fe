// A plan is read from a file that may be damaged, or made by another version:
// it is checked before anything is computed from it.
#ifndef SHARDC_RUNTIME_ENGINE_CHECKPLAN_H
#define SHARDC_RUNTIME_ENGINE_CHECKPLAN_H

#include "runtime/plan.pb.h"

namespace shardc::runtime {

/// Throws an Error where a plan does not hold together by itself: an index that
/// names nothing, a size below zero or beyond what can be, a tensor outside of
/// its buffer, a parameter outside of its unit. What it says to its devices
/// alone, they check (Platform::checkTarget); what entries demand of their
/// operands is checked when a rank binds them (Executor.h).
void checkPlan(const plan::Plan &plan);

} // namespace shardc::runtime

#endif

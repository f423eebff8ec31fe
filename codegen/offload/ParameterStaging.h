// Parameters in the pool host: a rank's slice of a unit comes to be gathered.
#ifndef SHARDC_CODEGEN_OFFLOAD_PARAMETERSTAGING_H
#define SHARDC_CODEGEN_OFFLOAD_PARAMETERSTAGING_H

#include "codegen/offload/HostLink.h"
#include "codegen/offload/TimedEntries.h"

namespace shardc::offload {

/// Lets the slices of units leave, of at most `mostBytes`: of those that are
/// gathered wherever they are used, and that the rank updates itself, in the
/// order of their first gathers. Emits an error where there is none of them.
mlir::LogicalResult offloadParameters(step::PlanOp plan, int64_t mostBytes);

/// Brings the slices that have left before each gather of them. Gathers have
/// their places by then: each slice takes the last time in which the link is
/// free, or the beginning of the program.
void stageParameters(step::PlanOp plan, step::ProgramOp program,
                     const Cluster &cluster);

} // namespace shardc::offload

#endif

// Parameters in the pool host: what a rank has of a unit comes to be gathered,
// or to be read.
#ifndef SHARDC_CODEGEN_OFFLOAD_PARAMETERSTAGING_H
#define SHARDC_CODEGEN_OFFLOAD_PARAMETERSTAGING_H

#include "codegen/offload/HostLink.h"
#include "codegen/offload/TimedEntries.h"

namespace shardc::offload {

/// Lets parameters of units leave, at most `mostBytes` of them: of those that
/// are gathered wherever they are used, or whole on the rank, and that it
/// updates itself, in the order of their first uses. What is not trained leaves
/// where its transfers repay their latency. Returns whether anything may.
bool offloadParameters(step::PlanOp plan, int64_t mostBytes,
                       const Cluster &cluster);

/// Brings what has left before each gather of it, and before each run of
/// entries that read it with no longer pauses between them than a transfer
/// takes. Entries have their places by then: everything takes the last time in
/// which the link is free, or the time behind the need before it.
void stageParameters(step::PlanOp plan, step::ProgramOp program,
                     const Cluster &cluster);

} // namespace shardc::offload

#endif

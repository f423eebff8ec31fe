// --profile: where the time of a step goes.
#ifndef SHARDC_RUNTIME_METRICS_STEPPROFILE_H
#define SHARDC_RUNTIME_METRICS_STEPPROFILE_H

#include "runtime/metrics/RankRecord.h"
#include "runtime/plan.pb.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// A table by kind of work, of the mean over ranks and steps: milliseconds of a
/// step, their share, entries, and the rate of what has FLOPs. `ranks` were
/// profiled for `steps` steps; `dataSeconds`: what a rank spent on batches in
/// all.
std::string profileText(const plan::Plan &plan,
                        const std::vector<RankRecord> &ranks, int64_t steps,
                        double dataSeconds);

/// FLOPs of a rank's step: of all entries, as often as they run in it. What is
/// computed again in backward counts again.
double stepFlops(const plan::Plan &plan, int64_t microBatches);

} // namespace shardc::runtime

#endif

// --profile: where the time of a step goes.
#ifndef SHARDC_RUNTIME_METRICS_STEPPROFILE_H
#define SHARDC_RUNTIME_METRICS_STEPPROFILE_H

#include "runtime/metrics/RankRecord.h"
#include "runtime/plan.pb.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// A kind of work in a step: the mean over ranks and steps.
struct StepShare {
  std::string kind; // as the table calls it
  double seconds = 0, entries = 0;
  double flops = 0; // of all its entries
};

/// From the most seconds on; last what batches took and what is left. Empty:
/// nothing was profiled, or no step was taken. `ranks` were profiled for
/// `steps` steps; `dataSeconds`: what a rank spent on batches in all.
std::vector<StepShare> stepShares(const plan::Plan &plan,
                                  const std::vector<RankRecord> &ranks,
                                  int64_t steps, double dataSeconds);

/// A table by kind of work, of the mean over ranks and steps: milliseconds of a
/// step, their share, entries, and the rate of what has FLOPs.
std::string profileText(const plan::Plan &plan,
                        const std::vector<RankRecord> &ranks, int64_t steps,
                        double dataSeconds);

/// FLOPs of a rank's step: of all entries, as often as they run in it. What is
/// computed again in backward counts again.
double stepFlops(const plan::Plan &plan, int64_t microBatches);

} // namespace shardc::runtime

#endif

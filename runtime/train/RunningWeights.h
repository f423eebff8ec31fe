// How much of a micro-batch's statistics the running ones take: torch's sums,
// averaged over ranks.
#ifndef SHARDC_RUNTIME_TRAIN_RUNNINGWEIGHTS_H
#define SHARDC_RUNTIME_TRAIN_RUNNINGWEIGHTS_H

#include "runtime/train/BatchLoader.h"

#include <vector>

namespace shardc::runtime {

/// By share of the plan: with m its momentum, (1 - m) m^n / ranks, n the calls
/// of the norm that follow in the step. Their sum over a step's calls and ranks
/// is 1 - m^calls, what of a statistic is not kept.
std::vector<double> runningWeights(const plan::Running &running,
                                   int64_t microBatches, int64_t microBatch,
                                   int64_t ranks);

/// The same, given to a rank before the micro-batch; nothing where the plan has
/// no running statistics.
void loadRunningWeights(const plan::Plan &plan, int64_t microBatches,
                        int64_t microBatch, BatchLoader &loader);

} // namespace shardc::runtime

#endif

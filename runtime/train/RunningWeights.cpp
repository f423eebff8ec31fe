// Weights of running statistics.
#include "runtime/train/RunningWeights.h"

#include <cmath>

namespace shardc::runtime {

std::vector<double> runningWeights(const plan::Running &running,
                                   int64_t microBatches, int64_t microBatch,
                                   int64_t ranks) {
  std::vector<double> weights;
  for (const plan::Running::Share &share : running.shares()) {
    const int64_t later = (microBatches - 1 - microBatch) * share.calls() +
                          share.calls() - 1 - share.call();
    weights.push_back((1 - share.momentum()) *
                      std::pow(share.momentum(), double(later)) /
                      double(ranks));
  }
  return weights;
}

void loadRunningWeights(const plan::Plan &plan, int64_t microBatches,
                        int64_t microBatch, BatchLoader &loader) {
  if (plan.has_running())
    loader.loadRunning(runningWeights(plan.running(), microBatches, microBatch,
                                      plan.mesh().ranks()));
}

} // namespace shardc::runtime

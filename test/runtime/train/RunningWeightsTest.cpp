// Weights of running statistics, beside torch's updates one after the other.
#include "runtime/train/RunningWeights.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

plan::Running runningWith(double momentum, int64_t calls) {
  plan::Running running;
  for (int64_t call = 0; call < calls; ++call) {
    plan::Running::Share *share = running.add_shares();
    share->set_momentum(momentum);
    share->set_call(call);
    share->set_calls(calls);
  }
  return running;
}

TEST(RunningWeights, AStepIsItsCallsOneAfterTheOther) {
  constexpr double momentum = 0.9;
  constexpr int64_t calls = 2, microBatches = 3, ranks = 4;
  const plan::Running running = runningWith(momentum, calls);
  const double begin = 2.5;
  double lost = 0, averaged = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    double statistic = begin;
    for (int64_t batch = 0; batch < microBatches; ++batch) {
      std::vector<double> weights =
          runningWeights(running, microBatches, batch, ranks);
      ASSERT_EQ(weights.size(), 2u);
      for (int64_t call = 0; call < calls; ++call) {
        const double ofBatch = double(rank * 7 + batch * 3 + call) / 5;
        statistic = momentum * statistic + (1 - momentum) * ofBatch;
        lost += weights[size_t(call)] * (begin - ofBatch);
      }
    }
    averaged += statistic / ranks;
  }
  EXPECT_NEAR(begin - lost, averaged, 1e-14);
}

TEST(RunningWeights, OfAMomentumOfNothingTheLastCallCounts) {
  const plan::Running running = runningWith(0, 1);
  EXPECT_EQ(runningWeights(running, 2, 0, 1), std::vector<double>{0});
  EXPECT_EQ(runningWeights(running, 2, 1, 1), std::vector<double>{1});
  EXPECT_EQ(runningWeights(runningWith(1, 1), 1, 0, 1), std::vector<double>{0});
}

} // namespace
} // namespace shardc::runtime

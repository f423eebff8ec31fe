// Which ranks of a process have the memory of gathers in common.
#include "runtime/engine/CommonGathers.h"
#include "test/runtime/engine/LinearPlan.h"
#include "test/runtime/engine/StrategyPlan.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int gatherPool = 2;
const Types floats{"", plan::FLOAT32, plan::FLOAT32, plan::FLOAT32};

CommonGathers commonOf(const plan::Plan &plan, int64_t rank,
                       int64_t ranksPerProcess) {
  return CommonGathers::of(plan, SharedSlices::of(plan, ranksPerProcess), rank,
                           ranksPerProcess);
}

TEST(CommonGathers, AreThoseOfSeveralProcesses) {
  plan::Plan plan = LinearPlan(4, 1).plan;
  ASSERT_EQ(plan.pools(gatherPool).name(), "gather");
  int64_t gathered = plan.pools(gatherPool).bytes();
  for (int64_t rank = 0; rank < 4; ++rank) {
    CommonGathers alone = commonOf(plan, rank, 1);
    EXPECT_EQ(alone.pools[gatherPool].group, -1);
    EXPECT_EQ(alone.poolBytes(gatherPool), gathered);
    CommonGathers two = commonOf(plan, rank, 2);
    EXPECT_EQ(two.pools[gatherPool].group, 0);
    EXPECT_EQ(two.pools[gatherPool].ranks, 2);
    EXPECT_EQ(two.pools[gatherPool].commonBytes, gathered);
    EXPECT_EQ(two.poolBytes(gatherPool), rank % 2 ? 0 : gathered);
    // All in one process: nothing is gathered.
    EXPECT_EQ(commonOf(plan, rank, 4).poolBytes(gatherPool), 0);
    for (int pool = 0; pool < gatherPool; ++pool)
      EXPECT_EQ(two.poolBytes(pool), plan.pools(pool).bytes());
  }
}

TEST(CommonGathers, ArePerGroupWhereAProcessHasRanksOfSeveral) {
  // Shards are over the outer dim: ranks 0, 2, 4, 6 and 1, 3, 5, 7.
  StrategyPlan built({"Outer", {4, 2}, {0}, {0}}, floats, Accumulated::Never);
  int64_t groups = 0;
  for (int64_t rank = 0; rank < 4; ++rank) {
    CommonGathers common = commonOf(built.plan, rank, 4);
    EXPECT_EQ(common.pools[gatherPool].ranks, 2);
    groups += common.pools[gatherPool].isFirst;
  }
  EXPECT_EQ(groups, 2);
}

TEST(CommonGathers, LeaveEachRankWhatItKeeps) {
  plan::Plan plan =
      StrategyPlan({"Full", {2, 4}, {0, 1}, {0, 1}}, floats, Accumulated::Never)
          .plan;
  int kept = 0;
  while (plan.buffers(kept).name() != "kept")
    ++kept;
  plan::Pool *pool = plan.mutable_pools(gatherPool);
  plan.mutable_buffers(kept)->set_pool(gatherPool);
  plan.mutable_buffers(kept)->set_offset(pool->bytes());
  pool->set_bytes(pool->bytes() + 64);
  // In processes of two ranks the gather of what is kept has the same ranks.
  CommonGathers common = commonOf(plan, 1, 2);
  EXPECT_EQ(common.pools[gatherPool].ranks, 2);
  EXPECT_EQ(common.pools[gatherPool].ownBytes, 64);
  EXPECT_EQ(common.ownOffsets[kept], 0);
  EXPECT_EQ(common.pools[gatherPool].commonBytes, pool->bytes() - 64);
  // In those of four it has two of them.
  EXPECT_EQ(commonOf(plan, 1, 4).pools[gatherPool].group, -1);
}

TEST(CommonGathers, AreNoneWhereSomethingElseIsInThePool) {
  plan::Plan plan = LinearPlan(4, 1).plan;
  plan::Buffer *other = plan.add_buffers();
  other->set_pool(gatherPool);
  other->set_bytes(64);
  EXPECT_EQ(commonOf(plan, 0, 2).pools[gatherPool].group, -1);
}

} // namespace

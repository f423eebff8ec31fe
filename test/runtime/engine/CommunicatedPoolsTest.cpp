// Which pools collectives work on.
#include "runtime/engine/CommunicatedPools.h"

#include "gtest/gtest.h"

namespace shardc::runtime {
namespace {

enum { Persistent, Gather, Accumulation, Step, Other, pools };

/// A buffer in each pool, of its number, and groups of two ranks and of one.
plan::Plan planOf() {
  plan::Plan plan;
  for (int i = 0; i < pools; ++i) {
    plan.add_pools();
    plan.add_buffers()->set_pool(i);
  }
  plan.add_groups()->set_size(2);
  plan.add_groups()->set_size(1);
  plan.add_units()->set_parameter_buffer(Persistent);
  return plan;
}

using Marks = std::vector<bool>;

TEST(CommunicatedPools, AreThoseOfOperands) {
  EXPECT_EQ(communicatedPools(planOf()), Marks(pools));
  {
    plan::Plan plan = planOf();
    auto *start =
        plan.mutable_train()->add_entries()->mutable_all_gather_start();
    start->set_gathered(Gather);
    EXPECT_EQ(communicatedPools(plan),
              (Marks{true, true, false, false, false}));
    start->mutable_kept()->set_buffer(Step);
    EXPECT_EQ(communicatedPools(plan),
              (Marks{false, true, false, true, false}));
    start->set_group(1); // of one rank
    EXPECT_EQ(communicatedPools(plan), Marks(pools));
  }
  {
    plan::Plan plan = planOf();
    auto *start =
        plan.mutable_train()->add_entries()->mutable_reduce_scatter_start();
    start->mutable_flat()->set_buffer(Step);
    start->mutable_shard()->set_buffer(Other);
    start->mutable_accumulator()->set_buffer(Accumulation);
    EXPECT_EQ(communicatedPools(plan),
              (Marks{false, false, false, true, true}));
    start->mutable_workspace()->set_buffer(Gather);
    EXPECT_EQ(communicatedPools(plan), (Marks{false, true, false, true, true}));
  }
  {
    plan::Plan plan = planOf();
    auto *start =
        plan.mutable_eval()->add_entries()->mutable_all_reduce_start();
    start->add_values()->set_buffer(Other);
    start->add_accumulators()->set_buffer(Accumulation);
    start->mutable_workspace()->set_buffer(Step);
    EXPECT_EQ(communicatedPools(plan),
              (Marks{false, false, false, true, true}));
  }
  {
    plan::Plan plan = planOf();
    plan.mutable_train()->add_entries()->mutable_all_gather_updates_start();
    EXPECT_EQ(communicatedPools(plan),
              (Marks{true, false, false, false, false}));
  }
}

TEST(CommunicatedPools, LeaveWhatDoesNotHoldTogetherToWhoBindsIt) {
  plan::Plan plan = planOf();
  auto *start = plan.mutable_train()->add_entries()->mutable_all_gather_start();
  start->set_gathered(99), start->set_unit(99);
  plan.add_buffers()->set_pool(99);
  plan.mutable_train()
      ->add_entries()
      ->mutable_all_reduce_start()
      ->add_values()
      ->set_buffer(pools);
  EXPECT_EQ(communicatedPools(plan), Marks(pools));
}

} // namespace
} // namespace shardc::runtime

// Plans whose mesh, groups, units or micro-batches do not hold together: what
// is said about them.
#include "runtime/base/Error.h"
#include "runtime/engine/Executor.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/StrategyPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <functional>

using namespace shardc;
using namespace shardc::runtime;

namespace {

const Strategy hybridOpt = {"HybridOpt2x2", {2, 2}, {1}, {1, 0}};
const Types mixed = {"Bf16", plan::BFLOAT16, plan::FLOAT32, plan::FLOAT32};

/// The entry of this kind, and, with `number`, the one behind that many others.
plan::Entry &entryOf(plan::Plan &plan, plan::Entry::KindCase kind,
                     int number = 0) {
  for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
    if (entry.kind_case() == kind && number-- == 0)
      return entry;
  throw Error("no such entry");
}

/// What the first rank that says something of its own says about the plan once
/// it is broken, and about a first run.
std::string failureOf(const std::function<void(plan::Plan &)> &breakIt,
                      const RankOptions &options = {},
                      const StepNumbers &numbers = {}) {
  StrategyPlan built(hybridOpt, mixed, Accumulated::Reduced);
  breakIt(built.plan);
  KernelLibrary library = KernelLibrary::of({});
  RankOptions copying = options;
  copying.shareSlices = false;
  std::vector<std::string> texts(4);
  try {
    runRanksAsThreads(4, [&](Communicator &communicator) {
      try {
        makeHostRank(built.plan, library, communicator, copying)
            ->runTrain(numbers);
      } catch (const Aborted &) {
        throw;
      } catch (const Error &error) {
        texts[communicator.rank()] = error.what();
        throw;
      }
    });
  } catch (const Error &) {
  }
  for (const std::string &text : texts)
    if (!text.empty())
      return text;
  return "";
}

TEST(PlanErrors, ThePlanAsItIsHasNone) {
  EXPECT_EQ(failureOf([](auto &) {}), "");
}

TEST(PlanErrors, OfTheMesh) {
  EXPECT_EQ(failureOf([](auto &plan) { plan.mutable_mesh()->set_dims(0, 4); }),
            "the dims of the mesh make 8 ranks, the plan says 4");
  EXPECT_EQ(failureOf([](auto &plan) { plan.mutable_mesh()->set_shards(4); }),
            "the mesh's shard_dims have 2 coordinates, the plan says 4");
  EXPECT_EQ(
      failureOf([](auto &plan) { plan.mutable_mesh()->set_shard_dims(0, 2); }),
      "the mesh has 2 dims, its shard_dims name dim 2");
  EXPECT_EQ(failureOf([](auto &plan) {
              plan.mutable_mesh()->set_optimizer_dims(0, 0);
              plan.mutable_mesh()->set_optimizer_dims(1, 1);
            }),
            "the mesh's optimizer_dims do not begin with its shard_dims");
}

TEST(PlanErrors, OfUnits) {
  EXPECT_EQ(failureOf([](auto &plan) { plan.mutable_units(0)->set_shards(3); }),
            "unit trained is cut into 3 slices, the mesh has 2");
  EXPECT_EQ(failureOf([](auto &plan) {
              plan.mutable_units(0)->set_optimizer_shards(3);
            }),
            "unit trained is optimized in 3 slices, the mesh has 4");
  EXPECT_EQ(
      failureOf([](auto &plan) { plan.mutable_units(0)->set_elements(22); }),
      "unit trained of 22 elements does not fall into 4 equal slices");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kOptimizerStep)
                  .mutable_optimizer_step()
                  ->set_unit(1);
            }),
            "plan entry step (train, optimizer): unit frozen is not trained, "
            "but has an optimizer step");
  EXPECT_EQ(failureOf([](auto &plan) {
              plan.mutable_units(0)->set_gradient_dtype(plan::BFLOAT16);
            }),
            "plan entry step (train, optimizer): expects gradient to be "
            "bfloat16, got float32 [6]");
}

TEST(PlanErrors, OfGroups) {
  EXPECT_EQ(
      failureOf([](auto &plan) { plan.mutable_groups(3)->set_size(3); }),
      "no groups of 3 ranks with a stride of 1 in 4 ranks: the product does "
      "not divide");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kAllGatherStart)
                  .mutable_all_gather_start()
                  ->set_group(9);
            }),
            "plan entry gather (train, forward): group 9 of 4");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kAllGatherStart)
                  .mutable_all_gather_start()
                  ->set_group(StrategyPlan::World);
            }),
            "plan entry gather (train, forward): expects 1/4 of unit trained "
            "of 24 elements from each rank of the group, got 12");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kKeep)
                  .mutable_keep()
                  ->set_group(StrategyPlan::World);
            }),
            "plan entry keep (train, forward): expects 1/4 of unit trained of "
            "24 elements from each rank of the group, got 12");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kReduceScatterStart)
                  .mutable_reduce_scatter_start()
                  ->set_group(StrategyPlan::World);
            }),
            "plan entry reduce_scatter (train, backward): expects a shard of "
            "1/4 of flat float32 [24], got float32 [12]");
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kAllGatherUpdatesStart)
                  .mutable_all_gather_updates_start()
                  ->set_group(StrategyPlan::World);
            }),
            "plan entry updates (train, optimizer): rank 0 of 4 updates 6 "
            "elements from 0 on of its 12 of unit trained");
}

TEST(PlanErrors, OfCollectivesThatDoNotBeginOrEnd) {
  EXPECT_EQ(failureOf([](auto &plan) {
              entryOf(plan, plan::Entry::kWait).mutable_wait()->set_token(99);
            }),
            "plan entry wait (train, forward): nothing starts collective 99");
  EXPECT_EQ(failureOf([](auto &plan) {
              auto *entries = plan.mutable_train()->mutable_entries();
              entries->SwapElements(0, 1);
            }),
            "plan entry wait (train, forward): collective 0 is waited for "
            "before its start");
  // What starts in the last micro-batch only is no matter before; what always
  // starts may not wait in the last only.
  RankOptions options;
  options.accumulates = true;
  StepNumbers first;
  first.microBatches = 2;
  EXPECT_EQ(failureOf([](auto &) {}, options, first), "");
  EXPECT_EQ(failureOf(
                [](auto &plan) {
                  entryOf(plan, plan::Entry::kWait).set_last(true);
                  auto *entries = plan.mutable_train();
                  *entries->add_entries() =
                      entryOf(plan, plan::Entry::kAllGatherStart);
                },
                options, first),
            "plan entry gather (train, forward): collective 0 is started again "
            "before its wait");
}

TEST(PlanErrors, OfNumbers) {
  RankOptions options;
  options.parameterNumbers.resize(2);
  EXPECT_EQ(failureOf([](auto &) {}, options),
            "the run has numbers for 2 parameters, the plan 3 parameters");
  StepNumbers numbers;
  numbers.clip = 1;
  auto clear = [](auto &plan) {
    entryOf(plan, plan::Entry::kOptimizerStep)
        .mutable_optimizer_step()
        ->clear_norm();
  };
  EXPECT_EQ(failureOf(clear, {}, numbers),
            "plan entry step (train, optimizer): expects a norm to clip by, "
            "got none");
  numbers = {};
  numbers.microBatches = 2;
  EXPECT_EQ(failureOf([](auto &) {}, {}, numbers),
            "a step of 2 micro-batches, but the rank has no room to "
            "accumulate");
  numbers.microBatch = 2;
  EXPECT_EQ(failureOf([](auto &) {}, {}, numbers), "micro-batch 2 of 2");
}

TEST(PlanErrors, OfAccumulators) {
  // Nothing but accumulation may lie in a pool that a run may lack.
  auto metric = [](auto &plan) {
    auto *metric = plan.mutable_train()->add_entries();
    metric->set_name("peek");
    *metric->mutable_metric()->mutable_value() =
        entryOf(plan, plan::Entry::kReduceScatterStart)
            .reduce_scatter_start()
            .accumulator();
    metric->mutable_metric()->mutable_value()->set_shape(0, 1);
  };
  EXPECT_EQ(failureOf(metric),
            "plan entry peek (train): value lies in the pool accumulation, "
            "which a run with one micro-batch per step does not have");
  RankOptions options;
  options.accumulates = true;
  EXPECT_EQ(failureOf(metric, options), "");
  EXPECT_EQ(failureOf(
                [](auto &plan) {
                  entryOf(plan, plan::Entry::kReduceScatterStart)
                      .mutable_reduce_scatter_start()
                      ->mutable_accumulator()
                      ->set_shape(0, 3);
                },
                options),
            "plan entry reduce_scatter (train, backward): expects an "
            "accumulator of 12 elements, got float32 [3]");
  EXPECT_EQ(failureOf(
                [](auto &plan) {
                  entryOf(plan, plan::Entry::kReduceScatterStart)
                      .mutable_reduce_scatter_start()
                      ->mutable_accumulator()
                      ->set_dtype(plan::BFLOAT16);
                },
                options),
            "plan entry reduce_scatter (train, backward): expects accumulator "
            "to be float32, got bfloat16 [12]");
}

TEST(PlanErrors, OfExactSums) {
  auto of = [](auto change) {
    return failureOf([=](auto &plan) {
      change(
          *entryOf(plan, plan::Entry::kGradientNorm).mutable_gradient_norm());
    });
  };
  EXPECT_EQ(of([](auto &norm) { norm.clear_units(); }),
            "plan entry norm (train, optimizer): expects units for 1 "
            "gradients, got 0");
  EXPECT_EQ(of([](auto &norm) { norm.mutable_result()->set_shape(0, 8); }),
            "plan entry norm (train, optimizer): expects result to have 68 "
            "words, got int64 [8]");
}

} // namespace

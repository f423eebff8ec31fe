// Plans that do not hold together by themselves, as damage with right checksums
// leaves them.
#include "runtime/engine/CheckPlan.h"
#include "test/runtime/engine/HostRank.h"

#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "runtime/engine/Executor.h"
#include "runtime/train/Report.h"
#include "test/runtime/device/TraitsOf.h"
#include "test/runtime/engine/LinearPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include <functional>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

static std::string errorOf(const plan::Plan &plan) {
  try {
    checkPlan(plan);
    platformFor(plan)->checkTarget(plan);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(CheckPlan, TakesWhatHolds) {
  for (int64_t ranks : {1, 2, 4})
    EXPECT_EQ(errorOf(LinearPlan(ranks, 2).plan), "");
}

TEST(CheckPlan, RefusesWhatDoesNot) {
  const std::function<void(plan::Plan &)> breaks[] = {
      [](auto &plan) { plan.set_version(2); },
      [](auto &plan) { plan.mutable_mesh()->set_ranks(3); },
      [](auto &plan) { plan.mutable_mesh()->set_dims(0, 0); },
      [](auto &plan) { plan.mutable_mesh()->set_dims(0, int64_t{1} << 62); },
      [](auto &plan) { plan.mutable_mesh()->set_shard_dims(0, 1); },
      [](auto &plan) { plan.mutable_mesh()->set_shards(0); },
      [](auto &plan) { plan.mutable_groups(0)->set_stride(0); },
      [](auto &plan) { plan.mutable_pools(0)->set_bytes(int64_t{1} << 40); },
      [](auto &plan) { plan.mutable_pools(0)->set_bytes(-1); },
      [](auto &plan) { plan.mutable_buffers(0)->set_pool(99); },
      [](auto &plan) { plan.mutable_buffers(0)->set_offset(-64); },
      [](auto &plan) { plan.mutable_units(0)->set_shards(0); },
      [](auto &plan) { plan.mutable_units(0)->set_elements(-16); },
      [](auto &plan) { plan.mutable_units(0)->set_dtype(plan::DType(77)); },
      [](auto &plan) { plan.mutable_units(0)->set_parameters(0, 1 << 30); },
      [](auto &plan) { plan.mutable_units(0)->set_parameter_buffer(99); },
      [](auto &plan) { plan.mutable_parameters(0)->set_shape(0, -4); },
      [](auto &plan) {
        plan.mutable_parameters(0)->set_shape(0, int64_t{1} << 62);
      },
      [](auto &plan) { plan.mutable_parameters(0)->set_flat_offset(7); },
      [](auto &plan) { plan.mutable_parameters(0)->set_unit(1); },
      // Others would wait.
      [](auto &plan) {
        for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
          if (entry.has_wait())
            entry.add_ranks(0);
      },
      [](auto &plan) {
        plan.mutable_inputs(0)->mutable_tensor()->set_offset(8);
      },
      [](auto &plan) {
        plan.mutable_inputs(0)->mutable_tensor()->set_buffer(99);
      },
      [](auto &plan) { plan.mutable_loss()->set_labels("none"); },
      [](auto &plan) { plan.mutable_loss()->set_shift(-1); },
      [](auto &plan) { plan.mutable_loss()->set_scale_buffer(99); },
      [](auto &plan) { plan.mutable_draws()->set_buffer(99); },
      // A site has eight words of four bytes, and the scale's buffer has eight.
      [](auto &plan) {
        plan.mutable_draws()->set_buffer(plan.loss().scale_buffer());
        plan.mutable_draws()->add_sites()->set_rate(0.5);
      },
      [](auto &plan) {
        plan.mutable_running()->set_dtype(plan::FLOAT32);
        plan.mutable_running()->set_buffer(99);
      },
      [](auto &plan) {
        plan.mutable_running()->set_dtype(plan::INT64);
        plan.mutable_running()->set_buffer(plan.loss().scale_buffer());
      },
      [](auto &plan) {
        plan.mutable_running()->set_dtype(plan::FLOAT32);
        plan.mutable_running()->set_buffer(plan.loss().scale_buffer());
        for (int i = 0; i < 1000; ++i)
          plan.mutable_running()->add_shares()->set_calls(1);
      },
      [](auto &plan) {
        plan.mutable_running()->set_dtype(plan::FLOAT32);
        plan.mutable_running()->set_buffer(plan.loss().scale_buffer());
        plan.mutable_running()->add_shares()->set_momentum(1.5);
      },
      [](auto &plan) { plan.mutable_loss()->set_scale_dtype(plan::INT64); },
      [](auto &plan) {
        for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
          if (entry.has_linear_cross_entropy())
            entry.mutable_linear_cross_entropy()->mutable_input()->add_strides(
                1);
      },
      [](auto &plan) {
        for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
          if (entry.has_all_gather_start())
            entry.mutable_all_gather_start()->set_unit(9);
      },
      [](auto &plan) { plan.add_kernels(); },
      [](auto &plan) {
        plan.add_kernels();
        plan.mutable_target()->mutable_cpu()->add_extents(-1);
      },
      // A target for GPUs: a grid for each kernel, as CUDA launches it.
      [](auto &plan) { plan.mutable_target()->mutable_cuda()->add_grids(); },
      [](auto &plan) {
        plan.add_kernels();
        auto *grid = plan.mutable_target()->mutable_cuda()->add_grids();
        grid->set_blocks(1);
        grid->set_threads(1025);
      },
      [](auto &plan) {
        plan.add_kernels();
        auto *grid = plan.mutable_target()->mutable_cuda()->add_grids();
        grid->set_blocks(-1);
        grid->set_threads(32);
      },
      [](auto &plan) { plan.add_exported_initializers()->set_parameter(99); },
  };
  for (size_t i = 0; i < std::size(breaks); ++i) {
    plan::Plan plan = LinearPlan(2, 2).plan;
    breaks[i](plan);
    EXPECT_NE(errorOf(plan).find("compile it again"), std::string::npos) << i;
  }
}

TEST(CheckPlan, DamagedPlansAreRefusedOrBound) {
  google::protobuf::SetLogHandler(nullptr);
  const std::string whole = LinearPlan(1, 2).plan.SerializeAsString();
  KernelLibrary library = KernelLibrary::of({});
  RandomStream random(11, "plan");
  int refused = 0, bound = 0;
  for (uint64_t trial = 0; trial < 3000; ++trial) {
    std::string damaged = whole;
    for (uint64_t change = 0; change < 1 + trial % 3; ++change)
      damaged[random.below(uint32_t(whole.size()), trial, 2 * change)] =
          static_cast<char>(random.below(256, trial, 2 * change + 1));
    plan::Plan plan;
    if (!plan.ParseFromString(damaged))
      continue;
    try {
      checkPlan(plan);
      platformFor(plan)->checkTarget(plan);
      reportText(plan, traitsOf(plan), 2, 1);
      runRanksAsThreads(1, [&](Communicator &communicator) {
        makeHostRank(plan, library, communicator, RankOptions());
      });
      ++bound;
    } catch (const Error &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(bound, 100);
}

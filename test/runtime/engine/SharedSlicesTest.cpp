// Which units' slices ranks read in place, and that nobody reads what is being
// updated, however far ranks are apart.
#include "runtime/engine/SharedSlices.h"
#include "runtime/engine/Executor.h"
#include "runtime/weights/RankValues.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/LinearPlan.h"
#include "test/runtime/engine/StrategyPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cstring>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;

namespace {

TEST(SharedSlices, AreThoseOfGatheredUnits) {
  plan::Plan plan = LinearPlan(2, 2).plan;
  EXPECT_FALSE(SharedSlices::of(plan, 1).isShared(0)) << "in two processes";
  SharedSlices shared = SharedSlices::of(plan, 2);
  EXPECT_TRUE(shared.isShared(0));
  EXPECT_EQ(shared.groups[0], 0);
  for (int i = 0; i < plan.buffers_size(); ++i)
    EXPECT_EQ(shared.gathered[i], plan.buffers(i).name() == "gathered" ? 0 : -1)
        << plan.buffers(i).name();
  for (int i = 0; i < plan.pools_size(); ++i)
    EXPECT_EQ(shared.poolBytes(plan, i),
              plan.pools(i).name() == "gather" ? 0 : plan.pools(i).bytes());
  shared.drop(0);
  EXPECT_FALSE(shared.isShared(0));
  EXPECT_EQ(shared.poolBytes(plan, 2), plan.pools(2).bytes());
}

/// Whether the unit is shared once the plan is changed.
template <typename Change> bool isShared(Change change, int64_t ranks = 2) {
  plan::Plan plan = LinearPlan(ranks, 2).plan;
  change(plan);
  return SharedSlices::of(plan, 2 * ranks).isShared(0);
}
uint32_t bufferNamed(const plan::Plan &plan, const std::string &name) {
  for (int i = 0; i < plan.buffers_size(); ++i)
    if (plan.buffers(i).name() == name)
      return uint32_t(i);
  return ~0u;
}

TEST(SharedSlices, AreNoneWhereThePlanCouldTellTheDifference) {
  EXPECT_TRUE(isShared([](plan::Plan &) {}));
  EXPECT_FALSE(isShared([](plan::Plan &) {}, 1)) << "nothing to share";
  EXPECT_FALSE(isShared([](plan::Plan &plan) {
    plan::Tensor *late =
        plan.mutable_train()->add_entries()->mutable_copy()->mutable_source();
    late->set_buffer(bufferNamed(plan, "gathered"));
  })) << "read behind the optimizer";
  EXPECT_FALSE(isShared([](plan::Plan &plan) {
    *plan.add_groups() = plan.groups(0);
    plan.mutable_eval()
        ->mutable_entries(0)
        ->mutable_all_gather_start()
        ->set_group(1);
  })) << "gathered over two groups";
  EXPECT_FALSE(isShared([](plan::Plan &plan) {
    plan.mutable_groups(0)->set_size(4);
  })) << "more ranks than slices";
  EXPECT_FALSE(isShared([](plan::Plan &plan) {
    int buffer = int(bufferNamed(plan, "gathered"));
    plan.mutable_buffers(buffer)->set_bytes(plan.buffers(buffer).bytes() + 64);
  })) << "something behind the unit";
  EXPECT_FALSE(isShared([](plan::Plan &plan) {
    int own = int(bufferNamed(plan, "parameters"));
    plan.mutable_buffers(int(bufferNamed(plan, "exp_avg")))
        ->set_offset(plan.buffers(own).offset());
  })) << "a slice that is another buffer as well";
}

/// A kernel: what is gathered, this rank's number, and where it says whether
/// all elements were equal, and which. Ranks come late in turns.
void watch(void *const *arguments, int64_t, int64_t) {
  const float *gathered = static_cast<const float *>(arguments[0]);
  auto *seen = static_cast<float *>(arguments[1]); // rank, runs, value
  auto sleepInTurns = [&](int turn) {
    if ((int(seen[0]) + int(seen[1])) % 4 == turn)
      std::this_thread::sleep_for(std::chrono::microseconds(300));
  };
  sleepInTurns(0);
  float value = gathered[0];
  for (int look = 0; look < 3; ++look) {
    for (int64_t i = 0; i < StrategyPlan::trained; ++i)
      if (gathered[i] != value)
        value = -1e30f;
    sleepInTurns(2);
  }
  seen[1] += 1;
  seen[2] = value;
}

class Ones : public ParameterSource {
public:
  void read(int, int64_t begin, int64_t end, plan::DType,
            std::byte *destination) const override {
    std::fill_n(reinterpret_cast<float *>(destination), end - begin, 1.f);
  }
};

/// The plan with the kernel right before the optimizer. Returns the buffer of
/// its second argument.
uint32_t addWatch(StrategyPlan &built) {
  plan::Plan &plan = built.plan;
  uint32_t index = uint32_t(plan.buffers_size());
  plan::Buffer *buffer = plan.add_buffers();
  buffer->set_pool(1);
  buffer->set_offset(plan.pools(1).bytes());
  buffer->set_bytes(64);
  plan.mutable_pools(1)->set_bytes(plan.pools(1).bytes() + 64);
  plan.add_kernels();
  plan.mutable_target()->mutable_cpu()->add_extents(1);
  for (int argument = 0; argument < 2; ++argument)
    plan.mutable_kernels(0)->add_argument_bytes(sizeof(float));
  plan::Program train;
  for (const plan::Entry &entry : plan.train().entries()) {
    if (entry.has_optimizer_step()) {
      plan::Launch *launch = train.add_entries()->mutable_launch();
      for (auto [tensor, buffer] :
           {std::pair(launch->add_inputs(), built.gathered),
            std::pair(launch->add_outputs(), index)}) {
        tensor->set_buffer(buffer);
        tensor->set_dtype(plan::FLOAT32);
      }
    }
    *train.add_entries() = entry;
  }
  *plan.mutable_train() = train;
  return index;
}

TEST(SharedSlices, AreNotUpdatedWhileAPeerReadsThem) {
  Types types{"", plan::FLOAT32, plan::FLOAT32, plan::FLOAT32};
  KernelLibrary library = KernelLibrary::of({watch});
  for (const Strategy &strategy : {Strategy{"Full2", {2}, {0}, {0}},
                                   {"Full4", {4}, {0}, {0}},
                                   {"Full8", {8}, {0}, {0}},
                                   {"Hybrid", {2, 4}, {1}, {1}},
                                   {"HybridOpt", {2, 4}, {1}, {1, 0}}}) {
    SCOPED_TRACE(strategy.name);
    StrategyPlan built(strategy, types, Accumulated::Never);
    uint32_t seen = addWatch(built);
    int ranks = int(strategy.ranks());
    runRanksAsThreads(ranks, [&](Communicator &communicator) {
      auto rank = makeHostRank(built.plan, library, communicator, {});
      readInitialValues(built.plan, *rank, Ones());
      auto *numbers =
          reinterpret_cast<float *>(hostBytes(rank->buffer(seen)).data());
      numbers[0] = float(rank->rank());
      auto *flat =
          reinterpret_cast<float *>(hostBytes(rank->buffer(built.flat)).data());
      StepNumbers step;
      step.learningRate = 0.25 / ranks; // every rank's gradient is 1
      for (int i = 0; i < 40; ++i) {
        std::fill_n(flat, StrategyPlan::trained, 1.f);
        rank->runTrain(step);
        EXPECT_EQ(numbers[2], 1 - 0.25f * float(i)) << "step " << i;
      }
      communicator.barrier();
    });
  }
}

} // namespace

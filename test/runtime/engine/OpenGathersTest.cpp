// A rank that is slow to take what it gathers gets the parameters from before
// the step, however far the others are.
#include "runtime/engine/Executor.h"
#include "runtime/weights/RankValues.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/StrategyPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cstring>
#include <thread>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// A kernel: sleeps where its argument, this rank's number, is 0.
void sleepOnRank0(void *const *arguments, int64_t, int64_t) {
  if (*static_cast<const float *>(arguments[0]) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

class Ones : public ParameterSource {
public:
  void read(int, int64_t begin, int64_t end, plan::DType,
            std::byte *destination) const override {
    std::fill_n(reinterpret_cast<float *>(destination), end - begin, 1.f);
  }
};

/// The plan with one more gather right before the optimizer's step, and a rest
/// between its start and its wait. Returns where it gathers to, and the buffer
/// of the rank's number.
std::pair<uint32_t, uint32_t> addLateGather(plan::Plan &plan, uint32_t group) {
  uint32_t first = uint32_t(plan.buffers_size());
  for (int64_t bytes : {StrategyPlan::elements * 4, int64_t(4)}) {
    plan::Buffer *buffer = plan.add_buffers();
    plan::Pool *pool = plan.mutable_pools(1);
    buffer->set_pool(1);
    buffer->set_offset(pool->bytes());
    buffer->set_bytes(bytes);
    pool->set_bytes(pool->bytes() + (bytes + 63) / 64 * 64);
  }
  plan.add_kernels();
  plan.mutable_target()->mutable_cpu()->add_extents(1);
  plan.mutable_kernels(0)->add_argument_bytes(sizeof(float));
  plan::Program train;
  for (const plan::Entry &entry : plan.train().entries()) {
    if (entry.has_optimizer_step()) {
      auto *start = train.add_entries()->mutable_all_gather_start();
      start->set_token(1000);
      start->set_gathered(first);
      start->set_group(group);
      plan::Tensor *number =
          train.add_entries()->mutable_launch()->add_inputs();
      number->set_buffer(first + 1);
      number->set_dtype(plan::FLOAT32);
      train.add_entries()->mutable_wait()->set_token(1000);
    }
    *train.add_entries() = entry;
  }
  *plan.mutable_train() = train;
  return {first, first + 1};
}

TEST(OpenGathers, AreFinishedBeforeParametersChange) {
  Types types{"", plan::FLOAT32, plan::FLOAT32, plan::FLOAT32};
  KernelLibrary library = KernelLibrary::of({sleepOnRank0});
  for (const Strategy &strategy : {Strategy{"Full", {4}, {0}, {0}},
                                   {"Hybrid", {2, 2}, {1}, {1}},
                                   {"HybridOpt", {2, 2}, {1}, {1, 0}}}) {
    SCOPED_TRACE(strategy.name);
    StrategyPlan built(strategy, types, Accumulated::Never);
    uint32_t group =
        strategy.dims.size() == 1 ? StrategyPlan::World : StrategyPlan::Shard;
    auto [gathered, number] = addLateGather(built.plan, group);
    runRanksAsThreads(4, [&](Communicator &communicator) {
      RankOptions options;
      options.shareSlices = false;
      auto rank = makeHostRank(built.plan, library, communicator, options);
      readInitialValues(built.plan, *rank, Ones());
      float own = float(rank->rank());
      std::memcpy(hostBytes(rank->buffer(number)).data(), &own, sizeof(own));
      auto values = [&](uint32_t buffer) {
        auto *begin =
            reinterpret_cast<float *>(hostBytes(rank->buffer(buffer)).data());
        return std::span(begin, StrategyPlan::trained);
      };
      for (float &gradient : values(built.flat))
        gradient = 1;
      StepNumbers numbers;
      numbers.learningRate = 0.5;
      rank->runTrain(numbers);
      for (float value : values(gathered))
        EXPECT_EQ(value, 1);
      rank->runTrain(numbers);
      for (float value : values(gathered))
        EXPECT_EQ(value, 1 - 0.5f * 4); // what four ranks' gradients made of it
      communicator.barrier();
    });
  }
}

} // namespace

// What all strategies do with parameters and gradients, in all types, with and
// without accumulation, against one process that computes the same numbers.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/engine/CommonGathers.h"
#include "runtime/engine/Executor.h"
#include "runtime/weights/GatheredParameters.h"
#include "runtime/weights/RankValues.h"
#include "test/runtime/device/GuardedDevice.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/StrategyReference.h"
#include "test/runtime/launch/RanksInProcesses.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <tuple>

using namespace shardc;
using namespace shardc::runtime;

namespace {

double valueAt(std::span<const std::byte> bytes, plan::DType dtype, int64_t i) {
  double value;
  convertElements(bytes.data() + i * elementSize(dtype), dtype, &value,
                  plan::FLOAT64, 1);
  return value;
}

/// Norms in float64 are added in other orders here: float64 masters feel it.
void expectSame(plan::DType master, double actual, double expected) {
  if (master == plan::FLOAT64)
    ASSERT_NEAR(actual, expected, 1e-15);
  else
    ASSERT_EQ(actual, expected);
}

class Strategies
    : public testing::TestWithParam<std::tuple<Strategy, Types, Accumulated>> {
protected:
  Case of(Norm norm) {
    auto [strategy, types, accumulated] = GetParam();
    return {strategy, types, accumulated, norm};
  }
  RankOptions options() {
    RankOptions options;
    options.shareSlices = shares;
    options.accumulates = std::get<2>(GetParam()) != Accumulated::Never;
    options.parameterNumbers.assign(std::begin(ownNumbers),
                                    std::end(ownNumbers));
    return options;
  }
  /// Whether this run's ranks share memory, and how many there are in a
  /// process.
  bool shares = false;
  int ranksPerProcess = 1;
  /// What they share.
  SharedSlices slices(const StrategyPlan &built) const {
    return shares ? SharedSlices::of(built.plan, ranksPerProcess)
                  : SharedSlices::none(built.plan);
  }
  /// What a rank's device holds.
  static std::vector<std::byte> bytesOf(Rank &rank, const Slice &slice) {
    std::vector<std::byte> bytes(slice.bytes());
    rank.read(slice, 0, slice.elements, bytes.data());
    return bytes;
  }
  /// body(rank, communicator), as all ranks, with gathers that copy and with
  /// gathers that do not, in processes of two ranks, and on a device that shows
  /// what may not be done; initial values are read.
  void run(StrategyPlan &built,
           const std::function<void(Rank &, Communicator &)> &body) {
    KernelLibrary library = KernelLibrary::of({});
    const DeviceFactory processors =
        cpu::cpuDevices(built.plan, library, {.workers = 2});
    const DeviceFactory guarded = guardedDevices(built.plan, library, 7);
    int ranks = int(built.plan.mesh().ranks());
    struct Way {
      bool shares;
      int ranksPerProcess;
      const DeviceFactory &devices;
    };
    std::vector<Way> ways = {{false, ranks, processors},
                             {true, ranks, processors},
                             {false, ranks, guarded}};
    // What lies where does not depend on how numbers are rounded.
    if (std::get<1>(GetParam()).name == std::string("Bf16"))
      ways.push_back({true, 2, processors});
    for (const auto &[share, each, devices] : ways) {
      shares = share;
      ranksPerProcess = each;
      runRanksInProcesses(
          ranks, each, /*processesPerNode=*/2, [&](Communicator &communicator) {
            auto rank =
                Rank::create(built.plan, devices, communicator, options());
            readInitialValues(built.plan, *rank, InitialValues());
            // A loss that no entry of this plan computes.
            Slice loss = rank->buffer(built.loss);
            rank->write(loss, 0, loss.elements,
                        std::vector<std::byte>(loss.elements).data());
            communicator.barrier();
            body(*rank, communicator);
            // The others would wait for this rank for ever.
            if (HasFatalFailure())
              fail("a test failed");
            communicator.barrier();
          });
    }
  }
  /// Writes the rank's flat gradient; `poison`: an infinity in it.
  void writeGradient(StrategyPlan &built, Rank &rank, int64_t step,
                     int64_t microBatch, bool poison = false) {
    plan::DType dtype = std::get<1>(GetParam()).gradients;
    auto size = static_cast<int64_t>(elementSize(dtype));
    std::vector<std::byte> flat(elements * size);
    for (int64_t i = 0; i < elements; ++i) {
      double value = gradientValue(step, microBatch, rank.rank(), i);
      if (poison && i == 7)
        value = INFINITY;
      convertElements(&value, plan::FLOAT64, flat.data() + i * size, dtype, 1);
    }
    rank.write(rank.buffer(built.flat), 0, elements * size, flat.data());
  }
};

std::string
nameOf(const testing::TestParamInfo<std::tuple<Strategy, Types, Accumulated>>
           &info) {
  auto [strategy, types, accumulated] = info.param;
  const char *names[] = {"", "Unsharded", "Sharded"};
  return std::string(strategy.name) + types.name + names[int(accumulated)];
}
INSTANTIATE_TEST_SUITE_P(
    All, Strategies,
    testing::Combine(testing::ValuesIn(strategies), testing::ValuesIn(types),
                     testing::Values(Accumulated::Never, Accumulated::Flat,
                                     Accumulated::Reduced)),
    nameOf);

TEST_P(Strategies, TrainAsOneProcessWould) {
  for (Norm norm : {Norm::One, Norm::Two, Norm::Inf}) {
    Case of = this->of(norm);
    StrategyPlan built(of.strategy, of.types, of.accumulated);
    const plan::Unit &unit = built.plan.units(0);
    run(built, [&](Rank &rank, Communicator &communicator) {
      Reference expected(of);
      auto expectParameters = [&](std::span<const std::byte> bytes,
                                  int64_t first, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          expectSame(of.types.master, valueAt(bytes, of.types.parameters, i),
                     expected.parameter(first + i));
      };
      for (int64_t step = 0; step < steps; ++step) {
        Reference before = expected;
        expected.step(step);
        std::swap(before, expected);
        for (int64_t batch = 0; batch < of.count(); ++batch) {
          int seen = 0;
          auto expectGathered = [&] {
            if (unit.shards() > 1)
              expectParameters(bytesOf(rank, rank.buffer(built.gathered)), 0,
                               elements);
            expectParameters(bytesOf(rank, rank.buffer(built.gatheredAgain)), 0,
                             elements);
          };
          rank.setBeforeOptimizer([&] {
            ++seen;
            expectGathered();
            auto gradient = bytesOf(rank, rank.gradientSlice(0));
            for (int64_t i = 0; i < rank.masterSlice(unit).elements; ++i)
              ASSERT_EQ(valueAt(gradient, of.types.gradients, i),
                        before.gradient[rank.masterSlice(unit).begin + i])
                  << "gradient " << rank.masterSlice(unit).begin + i;
          });
          writeGradient(built, rank, step, batch);
          rank.runTrain(of.numbers(step, batch));
          bool ends = batch + 1 == of.count();
          EXPECT_EQ(seen, ends);
          EXPECT_EQ(rank.gradientNorm().has_value(), ends);
          // What forward and backward saw is from before the step, and a copy
          // stays so.
          if (!slices(built).isShared(0) || !ends)
            expectGathered();
        }
        std::swap(before, expected);
        EXPECT_NEAR(*rank.gradientNorm(), expected.norm, 1e-14 * expected.norm);
        EXPECT_FALSE(rank.skipped());
        expectParameters(bytesOf(rank, rank.parameterSlice(unit)),
                         rank.parameterSlice(unit).begin,
                         rank.parameterSlice(unit).elements);
        auto master = bytesOf(rank, rank.masterSlice(unit));
        for (int64_t i = 0; i < rank.masterSlice(unit).elements; ++i)
          expectSame(of.types.master, valueAt(master, of.types.master, i),
                     expected.master[rank.masterSlice(unit).begin + i]);
      }
      // Whole again.
      InitialValues initial;
      GatheredParameters values(
          built.plan, rank, GatheredParameters::Values::Parameters, &initial);
      if (rank.rank() != 0) {
        values.serve();
      } else {
        double read[StrategyPlan::trained];
        auto *bytes = reinterpret_cast<std::byte *>(read);
        values.read(0, 0, StrategyPlan::weights, plan::FLOAT64, bytes);
        values.read(1, 0, 4, plan::FLOAT64,
                    bytes + StrategyPlan::weights * sizeof(double));
        for (int64_t i = 0; i < StrategyPlan::trained; ++i)
          expectSame(of.types.master, read[i], expected.master[i]);
        values.finish();
      }
    });
  }
}

TEST_P(Strategies, FrozenParametersAreGatheredAndNothingElse) {
  Case of = this->of(Norm::Two);
  StrategyPlan built(of.strategy, of.types, of.accumulated);
  const plan::Unit &unit = built.plan.units(1);
  run(built, [&](Rank &rank, Communicator &communicator) {
    writeGradient(built, rank, 0, 0);
    rank.runTrain(of.numbers(0, 0));
    EXPECT_FALSE(rank.masterSlice(unit));
    EXPECT_FALSE(rank.gradientSlice(1));
    EXPECT_EQ(rank.masterSlice(unit).elements, 0);
    auto gathered = bytesOf(rank, rank.buffer(built.gatheredFrozen));
    for (int64_t i = 0; i < StrategyPlan::frozen; ++i)
      EXPECT_EQ(valueAt(gathered, of.types.parameters, i),
                i < StrategyPlan::frozenValues
                    ? roundTo(of.types.parameters, initialValue(2, i))
                    : 0);
    InitialValues initial;
    double exported[StrategyPlan::frozenValues];
    GatheredParameters(built.plan, rank, GatheredParameters::Values::Parameters,
                       &initial)
        .read(2, 0, StrategyPlan::frozenValues, plan::FLOAT64,
              reinterpret_cast<std::byte *>(exported));
    for (int64_t i = 0; i < StrategyPlan::frozenValues; ++i)
      EXPECT_EQ(exported[i], initialValue(2, i)) << "rounded";
  });
}

// With and without clipping: who decides is the norm that is always there, and
// the loss, whose gradients may all be finite.
TEST_P(Strategies, WhatIsNotFiniteAnywhereIsWrittenNowhere) {
  for (Norm norm : {Norm::One, Norm::Two, Norm::Inf}) {
    Case of = this->of(norm);
    StrategyPlan built(of.strategy, of.types, of.accumulated);
    const plan::Unit &unit = built.plan.units(0);
    run(built, [&](Rank &rank, Communicator &communicator) {
      Reference expected(of);
      // A good step; then the same with a gradient, a loss that is not finite,
      // clipped or not: nothing happens; then a good one again.
      struct Attempt {
        int64_t step;
        bool gradient;
        double loss;
        bool clips;
      };
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      for (const Attempt &attempt :
           {Attempt{0, false, 2, true}, Attempt{1, true, 2, true},
            Attempt{1, true, 2, false}, Attempt{1, false, nan, true},
            Attempt{1, false, -INFINITY, false}, Attempt{2, false, 2, true}}) {
        for (int64_t batch = 0; batch < of.count(); ++batch) {
          bool here = attempt.gradient && batch == 0 &&
                      rank.rank() == communicator.size() - 1;
          writeGradient(built, rank, attempt.step, batch, here);
          rank.write(rank.buffer(built.loss), 0, sizeof(double), &attempt.loss);
          StepNumbers numbers = of.numbers(attempt.step, batch);
          if (!attempt.clips)
            numbers.clip = 0;
          rank.runTrain(numbers);
        }
        EXPECT_EQ(rank.skipped(), attempt.step == 1);
        EXPECT_EQ(std::isfinite(*rank.gradientNorm()), !attempt.gradient);
        if (attempt.step != 1)
          expected.step(attempt.step);
        auto parameters = bytesOf(rank, rank.parameterSlice(unit));
        for (int64_t i = 0; i < rank.parameterSlice(unit).elements; ++i)
          expectSame(of.types.master,
                     valueAt(parameters, of.types.parameters, i),
                     expected.parameter(rank.parameterSlice(unit).begin + i));
      }
    });
  }
}

TEST_P(Strategies, OnlyAccumulatingRunsHaveRoomToAccumulate) {
  Case of = this->of(Norm::Two);
  StrategyPlan built(of.strategy, of.types, of.accumulated);
  run(built, [&](Rank &rank, Communicator &) {
    std::vector<int64_t> bytes = rank.allocatedBytes();
    CommonGathers common = shares
                               ? CommonGathers::of(built.plan, slices(built),
                                                   rank.rank(), ranksPerProcess)
                               : CommonGathers::none(built.plan, slices(built));
    for (int i = 0; i < built.plan.pools_size(); ++i) {
      const plan::Pool &pool = built.plan.pools(i);
      EXPECT_EQ(bytes[i], common.poolBytes(i)) << pool.name();
      if (!shares || pool.name() != "gather")
        EXPECT_EQ(bytes[i], pool.bytes()) << pool.name();
    }
  });
  // The same plan in a run without: nothing there, and one micro-batch works.
  KernelLibrary library = KernelLibrary::of({});
  runRanksAsThreads(int(of.strategy.ranks()), [&](Communicator &communicator) {
    auto rank = makeHostRank(built.plan, library, communicator, {});
    EXPECT_EQ(rank->allocatedBytes().back(), 0);
    rank->runTrain({});
    StepNumbers two;
    two.microBatches = 2;
    EXPECT_THROW(rank->runTrain(two), Error);
  });
}

} // namespace

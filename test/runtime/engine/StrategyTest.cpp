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
#include "test/runtime/engine/StrategyPlan.h"
#include "test/runtime/launch/RanksInProcesses.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <tuple>

using namespace shardc;
using namespace shardc::runtime;

namespace {

const Strategy strategies[] = {
    {"Full4", {4}, {0}, {0}},
    {"Full2x2", {2, 2}, {0, 1}, {0, 1}},
    {"Full2x4", {2, 4}, {0, 1}, {0, 1}},
    {"Hybrid2x2", {2, 2}, {1}, {1}},
    {"Hybrid2x4", {2, 4}, {1}, {1}},
    {"HybridOpt2x2", {2, 2}, {1}, {1, 0}},
    {"HybridOpt2x4", {2, 4}, {1}, {1, 0}},
    {"Opt4", {4}, {}, {0}},
    {"Opt2x2", {2, 2}, {}, {0, 1}},
    {"None2x2", {2, 2}, {}, {}},
};
const Types types[] = {
    {"Float32", plan::FLOAT32, plan::FLOAT32, plan::FLOAT32},
    {"Float64", plan::FLOAT64, plan::FLOAT64, plan::FLOAT64},
    {"Bf16Reduce32", plan::BFLOAT16, plan::FLOAT32, plan::FLOAT32},
    {"Bf16", plan::BFLOAT16, plan::BFLOAT16, plan::FLOAT32},
    {"Fp16", plan::FLOAT16, plan::FLOAT16, plan::FLOAT32},
    {"MasterBf16", plan::BFLOAT16, plan::BFLOAT16, plan::BFLOAT16},
};

/// The nearest value of a type; ties to even. By arithmetic, as bits are the
/// runtime's business.
double roundTo(plan::DType dtype, double value) {
  if (dtype == plan::FLOAT64 || !std::isfinite(value) || value == 0)
    return value;
  int digits = dtype == plan::FLOAT32 ? 24 : dtype == plan::FLOAT16 ? 11 : 8;
  int lowest = dtype == plan::FLOAT16 ? -24 : -149;
  int exponent;
  std::frexp(value, &exponent);
  int unit = std::max(exponent - digits, lowest);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return dtype == plan::FLOAT16 && std::fabs(rounded) > 65504
             ? std::copysign(INFINITY, value)
             : rounded;
}
/// What values of a type are added in.
plan::DType sumType(plan::DType dtype) {
  return elementSize(dtype) == 2 ? plan::FLOAT32 : dtype;
}

constexpr int64_t elements = StrategyPlan::elements;
constexpr int64_t steps = 3, microBatches = 3;

double initialValue(int64_t parameter, int64_t i) {
  return std::sin(1.7 * double(i) + double(parameter)) / 3;
}
class InitialValues : public ParameterSource {
public:
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    for (int64_t i = begin; i < end; ++i) {
      double value = initialValue(parameter, i);
      convertElements(&value, plan::FLOAT64,
                      destination + (i - begin) * elementSize(dtype), dtype, 1);
    }
  }
};
/// Element i of the unit's flat buffer.
double initialOf(int64_t i) {
  if (i >= StrategyPlan::trained)
    return 0;
  return i < StrategyPlan::weights ? initialValue(0, i)
                                   : initialValue(1, i - StrategyPlan::weights);
}
double gradientValue(int64_t step, int64_t microBatch, int64_t rank,
                     int64_t i) {
  return i < StrategyPlan::trained
             ? std::cos(double(i * 5 + rank + microBatch * 6 + step)) / 2
             : 0;
}

struct Case {
  Strategy strategy;
  Types types;
  Accumulated accumulated;
  Norm norm;

  int64_t count() const {
    return accumulated == Accumulated::Never ? 1 : microBatches;
  }
  StepNumbers numbers(int64_t step, int64_t microBatch) const {
    StepNumbers numbers;
    numbers.step = step + 1;
    numbers.learningRate = 2;
    numbers.clip = step == 1 ? 100 : 0.02; // far off, and always
    numbers.clipNorm = norm;
    numbers.gradientFactor = 1.0 / 8;
    numbers.microBatch = microBatch;
    numbers.microBatches = count();
    return numbers;
  }
};
const ParameterNumbers ownNumbers[] = {{1, 0.25}, {0.5, 0}, {1, 0.25}};

/// The same steps without slices: one array per value that ranks would cut.
class Reference {
public:
  explicit Reference(const Case &of) : of(of) {
    for (int64_t i = 0; i < elements; ++i)
      master[i] = roundTo(of.types.master, initialOf(i));
  }
  double parameter(int64_t i) const {
    return roundTo(of.types.parameters, master[i]);
  }
  double master[elements], gradient[elements], norm = 0;

  void step(int64_t step) {
    norm = 0;
    for (int64_t i = 0; i < elements; ++i) {
      gradient[i] = reduced(step, i);
      double size = std::fabs(gradient[i]);
      norm = of.norm == Norm::One   ? norm + size
             : of.norm == Norm::Two ? norm + size * size
                                    : std::max(norm, size);
    }
    StepNumbers numbers = of.numbers(step, 0);
    norm = (of.norm == Norm::Two ? std::sqrt(norm) : norm) *
           numbers.gradientFactor;
    double clipping = std::min(1.0, numbers.clip / (norm + 1e-6));
    plan::DType type = sumType(of.types.master);
    auto round = [&](double value) { return roundTo(type, value); };
    for (int64_t i = 0; i < StrategyPlan::trained; ++i) {
      const ParameterNumbers &own = ownNumbers[i >= StrategyPlan::weights];
      double g =
          round(round(gradient[i]) * round(numbers.gradientFactor * clipping));
      g = round(g + round(master[i] * round(own.weightDecay)));
      double rate = round(-numbers.learningRate * own.learningRateScale);
      master[i] = roundTo(of.types.master, round(master[i] + round(rate * g)));
    }
  }

private:
  using Values = std::vector<double>; // by rank, or by what is left of ranks
  double add(double a, double b) const {
    return roundTo(sumType(of.types.gradients), a + b);
  }
  double stored(double value) const {
    return roundTo(of.types.gradients, value);
  }
  /// Sum of every `size` values in a row.
  Values sums(const Values &values, int64_t size) const {
    Values result;
    for (size_t begin = 0; begin < values.size(); begin += size) {
      double sum = values[begin];
      for (int64_t i = 1; i < size; ++i)
        sum = add(sum, values[begin + i]);
      result.push_back(stored(sum));
    }
    return result;
  }
  Values overMicroBatches(const std::vector<Values> &values) const {
    Values result = values.back();
    for (size_t at = 0; at < result.size(); ++at) {
      plan::DType type = of.types.master;
      double sum = roundTo(type, values[0][at]);
      for (size_t i = 1; i + 1 < values.size(); ++i)
        sum = roundTo(type, roundTo(sumType(type), sum + values[i][at]));
      result[at] = stored(roundTo(sumType(type), result[at] + sum));
    }
    return result;
  }
  /// Of every `size` ranks in a row, the sum of all micro-batches: one sum,
  /// which is rounded once.
  Values inOneGo(const std::vector<Values> &batches, int64_t size) const {
    Values result;
    for (size_t begin = 0; begin < batches[0].size(); begin += size) {
      double sum = batches[0][begin];
      for (size_t batch = 0; batch < batches.size(); ++batch)
        for (int64_t i = batch == 0; i < size; ++i)
          sum = add(sum, batches[batch][begin + i]);
      result.push_back(stored(sum));
    }
    return result;
  }
  double reduced(int64_t step, int64_t i) const {
    int64_t ranks = of.strategy.ranks();
    bool hybrid = of.strategy.shardDims == std::vector<int64_t>{1};
    int64_t first = hybrid ? of.strategy.dims[1] : ranks;
    std::vector<Values> batches;
    for (int64_t batch = 0; batch < of.count(); ++batch) {
      Values flat;
      for (int64_t rank = 0; rank < ranks; ++rank)
        flat.push_back(stored(gradientValue(step, batch, rank, i)));
      batches.push_back(flat);
    }
    Values values;
    switch (of.accumulated) {
    case Accumulated::Never:
      values = sums(batches[0], first);
      break;
    case Accumulated::Flat:
      values = sums(overMicroBatches(batches), first);
      break;
    case Accumulated::Reduced:
      values = inOneGo(batches, first);
      break;
    }
    return sums(values, int64_t(values.size()))[0];
  }

  Case of;
};

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
    for (auto &[share, each, devices] : {std::tuple(false, ranks, processors),
                                         {true, ranks, processors},
                                         {true, 2, processors},
                                         {false, ranks, guarded}}) {
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

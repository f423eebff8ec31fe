// The executor on SoftmaxPlan.h's plan, against plain loops.
#include "runtime/engine/Executor.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/SoftmaxPlan.h"
#include "test/runtime/engine/WholeUnit.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::softmax;

namespace {

double inputValue(int64_t step, int64_t sample, int64_t i) {
  return std::sin(1.0 + step * 7 + sample * 3 + i);
}
int64_t labelOf(int64_t step, int64_t sample) {
  return (step + sample) % 5 == 0 ? -100 : (step + sample) % classes;
}
double initialValue(int64_t i) {
  return i < weights + classes ? std::cos(double(i)) / 2 : 0;
}
int64_t validLabels(int64_t step) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < globalBatch; ++sample)
    count += labelOf(step, sample) >= 0;
  return count;
}
StepNumbers numbersOf(int64_t step) {
  StepNumbers numbers;
  numbers.step = step + 1;
  numbers.learningRate = 0.05;
  numbers.clip = 0.3;
  return numbers;
}
constexpr double weightDecay = 0.1;
RankOptions optionsOf(bool profile) {
  RankOptions options;
  options.profile = profile;
  options.parameterNumbers.assign(2, {1, weightDecay});
  return options;
}

template <typename T> struct Run {
  std::vector<double> losses, norms, evalLosses;
  std::vector<T> parameters;

  bool operator==(const Run &) const = default;
};

template <typename T>
Run<T> train(int ranks, bool sharded, int workers, bool profile = false) {
  SoftmaxPlan<T> builder(ranks, sharded);
  KernelLibrary library = KernelLibrary::of({columnSums<T>});
  Run<T> result;
  result.parameters.resize(flatElements);
  runRanksAsThreads(ranks, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator,
                             optionsOf(profile), {workers, false, profile});
    const plan::Unit &unit = builder.plan.units(0);
    auto *parameters =
        reinterpret_cast<T *>(hostBytes(rank->parameterSlice(unit)).data());
    for (int64_t i = 0; i < rank->parameterSlice(unit).elements; ++i)
      parameters[i] = T(initialValue(rank->parameterSlice(unit).begin + i));
    communicator.barrier();
    for (int64_t step = 0; step < steps; ++step) {
      int64_t first = communicator.rank() * builder.batch;
      auto x = hostElements<T>(rank->tensor(
          builder.tensor(builder.input, {builder.batch, features})));
      auto labels = hostElements<int64_t>(rank->tensor(
          builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
      for (int64_t sample = 0; sample < builder.batch; ++sample) {
        for (int64_t i = 0; i < features; ++i)
          x[sample * features + i] = T(inputValue(step, first + sample, i));
        labels[sample] = labelOf(step, first + sample);
      }
      *reinterpret_cast<T *>(hostBytes(rank->buffer(builder.scale)).data()) =
          T(1.0 / validLabels(step));
      rank->runTrain(numbersOf(step));
      double loss = rank->metric("loss").value();
      double norm = rank->metric("gradient_norm").value();
      rank->runEval();
      if (communicator.rank() == 0) {
        result.losses.push_back(loss);
        result.norms.push_back(norm);
        result.evalLosses.push_back(rank->metric("loss").value());
        EXPECT_FALSE(rank->metric("gradient_norm"));
      }
    }
    std::vector<T> whole = wholeUnit<T>(*rank, unit, rank->masterSlice(unit));
    // The state stands beside the master weights, and has moved.
    Slice master = rank->masterSlice(unit);
    for (int i = 0; i < unit.state_buffers_size(); ++i) {
      int64_t elements = 0;
      bool moved = false;
      for (uint32_t parameter : unit.parameters()) {
        Slice slice = rank->stateSlice(unit, parameter, i);
        EXPECT_GE(slice.begin, slice ? master.begin : 0);
        elements += slice.elements;
        std::vector<T> values(slice.elements);
        if (slice)
          rank->read(slice, 0, slice.elements, values.data());
        moved |= std::any_of(values.begin(), values.end(),
                             [](T value) { return value != 0; });
      }
      EXPECT_LE(elements, master.elements);
      EXPECT_EQ(moved, elements > 0);
    }
    if (communicator.rank() == 0)
      result.parameters = whole;
    std::vector<int64_t> bytes = rank->allocatedBytes();
    for (int i = 0; i < builder.plan.pools_size(); ++i)
      EXPECT_EQ(bytes[i], i == 2 && sharded && ranks > 1
                              ? 0 // nothing is gathered
                              : builder.plan.pools(i).bytes());
    if (profile) {
      EXPECT_EQ(rank->trainProfile().runs, steps);
      EXPECT_EQ(rank->trainProfile().entrySeconds.size(),
                size_t(builder.plan.train().entries_size()));
      for (int64_t runs : rank->trainProfile().entryRuns)
        EXPECT_EQ(runs, steps);
      EXPECT_GT(rank->trainProfile().gemmSeconds, 0);
      EXPECT_GE(rank->trainProfile().seconds, rank->trainProfile().gemmSeconds);
    }
  });
  return result;
}

/// The same training in plain double loops, without ranks.
Run<double> reference() {
  Run<double> run;
  std::vector<double> p(flatElements), m(flatElements), v(flatElements);
  for (int64_t i = 0; i < flatElements; ++i)
    p[i] = initialValue(i);
  auto lossAndGradient = [&](int64_t step, std::vector<double> &g) {
    double loss = 0;
    g.assign(flatElements, 0);
    for (int64_t sample = 0; sample < globalBatch; ++sample) {
      int64_t label = labelOf(step, sample);
      if (label < 0)
        continue;
      double logits[classes], sum = 0;
      for (int64_t j = 0; j < classes; ++j) {
        logits[j] = p[weights + j];
        for (int64_t i = 0; i < features; ++i)
          logits[j] += p[j * features + i] * inputValue(step, sample, i);
        sum += std::exp(logits[j]);
      }
      loss += (std::log(sum) - logits[label]) / validLabels(step);
      for (int64_t j = 0; j < classes; ++j) {
        double d =
            (std::exp(logits[j]) / sum - (j == label)) / validLabels(step);
        g[weights + j] += d;
        for (int64_t i = 0; i < features; ++i)
          g[j * features + i] += d * inputValue(step, sample, i);
      }
    }
    return loss;
  };
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> g;
    run.losses.push_back(lossAndGradient(step, g));
    StepNumbers n = numbersOf(step);
    double norm = 0;
    for (double value : g)
      norm += value * value;
    run.norms.push_back(norm);
    double factor = std::min(1.0, n.clip / (std::sqrt(norm) + 1e-6));
    for (int64_t i = 0; i < weights + classes; ++i) {
      double gi = g[i] * factor;
      p[i] *= 1 - n.learningRate * weightDecay;
      m[i] += (1 - n.beta1) * (gi - m[i]);
      v[i] = n.beta2 * v[i] + (1 - n.beta2) * gi * gi;
      p[i] -= n.learningRate / (1 - std::pow(n.beta1, n.step)) * m[i] /
              (std::sqrt(v[i]) / std::sqrt(1 - std::pow(n.beta2, n.step)) +
               n.epsilon);
    }
    run.evalLosses.push_back(lossAndGradient(step, g));
  }
  run.parameters = p;
  return run;
}

template <typename T> class ExecutorOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ExecutorOf, Types);

TYPED_TEST(ExecutorOf, TrainsAsOneProcessWould) {
  using T = TypeParam;
  Run<double> expected = reference();
  double bound = sizeof(T) == 4 ? 2e-6 : 1e-13;
  for (int ranks : {1, 2, 3})
    for (bool sharded : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << ranks << " ranks, " << (sharded ? "full" : "none"));
      Run<T> run = train<T>(ranks, sharded, 1);
      for (int64_t step = 0; step < steps; ++step) {
        EXPECT_NEAR(run.losses[step], expected.losses[step], bound);
        EXPECT_NEAR(run.norms[step], expected.norms[step], bound);
        EXPECT_NEAR(run.evalLosses[step], expected.evalLosses[step], bound);
      }
      for (int64_t i = 0; i < flatElements; ++i)
        EXPECT_NEAR(run.parameters[i], expected.parameters[i], bound) << i;
    }
}

TYPED_TEST(ExecutorOf, ShardedOrNotHasTheSameBits) {
  using T = TypeParam;
  for (int ranks : {2, 3})
    EXPECT_EQ(train<T>(ranks, true, 1), train<T>(ranks, false, 1));
}

TYPED_TEST(ExecutorOf, ThreadsAndTimingDoNotChangeBits) {
  using T = TypeParam;
  Run<T> run = train<T>(2, true, 1);
  EXPECT_EQ(train<T>(2, true, 3), run);
  EXPECT_EQ(train<T>(2, true, 2, true), run);
}

TEST(Executor, GradientsAreSeenBeforeTheOptimizer) {
  SoftmaxPlan<double> builder(2, true);
  KernelLibrary library = KernelLibrary::of({columnSums<double>});
  std::vector<double> gradients(flatElements);
  runRanksAsThreads(2, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator, {});
    const plan::Unit &unit = builder.plan.units(0);
    int calls = 0;
    rank->setBeforeOptimizer([&] {
      ++calls;
      std::vector<double> whole =
          wholeUnit<double>(*rank, unit, rank->gradientSlice(0));
      if (communicator.rank() == 0)
        gradients = whole;
    });
    // All parameters are 0: the gradient of the bias is 1 / classes for each
    // class.
    *reinterpret_cast<double *>(hostBytes(rank->buffer(builder.scale)).data()) =
        1;
    auto labels = hostElements<int64_t>(rank->tensor(
        builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
    for (int64_t i = 0; i < builder.batch; ++i)
      labels[i] = i == 0 ? 2 : -100;
    rank->runTrain(numbersOf(0));
    rank->runEval();
    EXPECT_EQ(calls, 1);
  });
  for (int64_t j = 0; j < classes; ++j)
    EXPECT_NEAR(gradients[weights + j], 2 * (0.25 - (j == 2)), 1e-15);
}

TEST(Executor, ParametersThatAreNotTrainableStay) {
  SoftmaxPlan<float> builder(1, true);
  builder.plan.mutable_parameters(0)->set_trainable(false);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  runRanksAsThreads(1, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator, {});
    auto parameters = hostElements<float>(
        rank->tensor(builder.tensor(builder.parameters, {flatElements})));
    std::fill(parameters.begin(), parameters.end(), 1.f);
    *reinterpret_cast<float *>(hostBytes(rank->buffer(builder.scale)).data()) =
        1;
    rank->runTrain(numbersOf(0));
    for (int64_t i = 0; i < flatElements; ++i)
      EXPECT_EQ(parameters[i] == 1, i < weights || i >= weights + classes);
  });
}

TEST(Executor, AFailureOfOneRankEndsAllAndNamesTheEntry) {
  SoftmaxPlan<float> builder(3, true);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  try {
    runRanksAsThreads(3, [&](Communicator &communicator) {
      auto rank = makeHostRank(builder.plan, library, communicator, {});
      auto labels = hostElements<int64_t>(rank->tensor(
          builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
      labels[1] = communicator.rank() == 1 ? 99 : 0;
      for (int step = 0; step < 100; ++step)
        rank->runTrain({});
    });
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "plan entry loss (train, forward): label 99 in row 1 of the "
                 "labels is outside [0, 4) and is not the ignored -100");
  }
}

} // namespace

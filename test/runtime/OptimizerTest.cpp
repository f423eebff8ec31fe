// Optimizer steps against numbers worked out from torch.optim's documented
// formulas, and norms of gradients.
#include "runtime/cpu/Optimizer.h"
#include "runtime/ThreadPool.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <array>

using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

template <typename T> class OptimizerOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerOf, Types);

using Kind = OptimizerStep::Kind;

struct Case {
  const char *name;
  Kind kind;
  double weightDecay;
  StepNumbers numbers;
  std::array<double, 3> expected;
};

StepNumbers adam(double beta1, double beta2, double epsilon, double clip) {
  StepNumbers n;
  n.learningRate = 0.01;
  n.beta1 = beta1, n.beta2 = beta2, n.epsilon = epsilon, n.clip = clip;
  return n;
}
StepNumbers sgd(double momentum, bool nesterov, double clip) {
  StepNumbers n;
  n.learningRate = 0.1;
  n.momentum = momentum, n.nesterov = nesterov, n.clip = clip;
  return n;
}

// Parameters 1, -2, 0.5 after three steps with gradients 0.1 t, -0.4, 3 / t.
const Case cases[] = {
    {"adamw",
     Kind::AdamW,
     0.1,
     adam(0.9, 0.95, 1e-8, 0),
     {0.968007613690627, -1.964035988749250, 0.470260215642878}},
    {"adamw with beta1 below a half, where lerp takes its other form",
     Kind::AdamW,
     0.1,
     adam(0.3, 0.95, 1e-3, 0),
     {0.964040365663827, -1.964110726179551, 0.474466351654170}},
    {"adamw, clipped",
     Kind::AdamW,
     0.1,
     adam(0.9, 0.95, 1e-8, 0.5),
     {0.969655993565391, -1.964873665462423, 0.468564771535736}},
    {"adam",
     Kind::Adam,
     0.1,
     adam(0.9, 0.999, 1e-8, 0),
     {0.970214206650318, -1.970001607359831, 0.471876592602789}},
    {"sgd",
     Kind::Sgd,
     0.01,
     sgd(0, false, 0),
     {0.937042989000000, -1.874125958000000, -0.050748800500000}},
    {"sgd with momentum",
     Kind::Sgd,
     0.01,
     sgd(0.9, false, 0),
     {0.899352789000000, -1.764581558000000, -0.699512900500000}},
    {"sgd with Nesterov's momentum",
     Kind::Sgd,
     0.01,
     sgd(0.9, true, 0),
     {0.846550012551000, -1.662525847922000, -1.128588707129500}},
    {"sgd, clipped",
     Kind::Sgd,
     0,
     sgd(0.9, false, 1),
     {0.939940708835900, -1.879871534543256, -0.039998508026925}}};

/// The case's parameters, repeated over `count` elements of which the first is
/// left alone.
template <typename T>
std::vector<T> parametersAfter(const Case &of, int64_t count, int workers) {
  ThreadPool pool(workers, false);
  TestTensor<T> parameter({count}), gradient({count}), first({count}),
      second({count});
  for (int64_t i = 0; i < count; ++i)
    parameter[i] = T(i % 3 == 0 ? 1 : i % 3 == 1 ? -2 : 0.5);
  OptimizerStep step;
  step.kind = of.kind;
  step.master = parameter.view;
  step.gradient = gradient.view;
  step.states = {first.view, second.view};
  ParameterNumbers own{1, of.weightDecay};
  step.ranges = {{3, 5, own}, {5, count, own}};
  StepNumbers n = of.numbers;
  for (n.step = 1; n.step <= 3; ++n.step) {
    double g[] = {0.1 * n.step, -0.4, 3.0 / n.step}, norm = 0;
    for (double value : g)
      norm += value * value;
    for (int64_t i = 0; i < count; ++i)
      gradient[i] = T(g[i % 3]);
    step.run(n, std::sqrt(norm), pool);
  }
  return parameter.storage;
}

TYPED_TEST(OptimizerOf, FollowsTorchsFormulas) {
  using T = TypeParam;
  for (const Case &of : cases) {
    SCOPED_TRACE(of.name);
    int64_t count = 3 * 17;
    std::vector<T> parameters = parametersAfter<T>(of, count, 1);
    for (int64_t i = 3; i < count; ++i)
      EXPECT_NEAR(parameters[i], of.expected[i % 3], tolerance<T>()) << i;
    EXPECT_EQ(parameters[0], 1) << "outside the ranges";
    EXPECT_EQ(parameters[1], -2) << "outside the ranges";
  }
}

TYPED_TEST(OptimizerOf, HasTheSameBitsForEveryNumberOfThreads) {
  using T = TypeParam;
  for (const Case &of : cases) {
    std::vector<T> one = parametersAfter<T>(of, 100000, 1);
    EXPECT_EQ(parametersAfter<T>(of, 100000, 3), one);
  }
}

TEST(Optimizer, ANormThatIsNotANumberIsNotClippedAway) {
  ThreadPool pool(1, false);
  TestTensor<float> parameter({4}, 1.f), gradient({4}, 1.f), buffer({4});
  OptimizerStep step{
      Kind::Sgd, parameter.view, gradient.view, {buffer.view}, {{0, 4}}};
  step.run(sgd(0, false, 1), NAN, pool);
  EXPECT_TRUE(std::isnan(parameter[0]));
}

TEST(Optimizer, KnowsItsKinds) {
  Kind kind;
  int states;
  EXPECT_TRUE(OptimizerStep::parse("adamw", kind, states));
  EXPECT_EQ(states, 2);
  EXPECT_EQ(kind, Kind::AdamW);
  EXPECT_TRUE(OptimizerStep::parse("sgd", kind, states));
  EXPECT_EQ(states, 1);
  EXPECT_FALSE(OptimizerStep::parse("lion", kind, states));
}

TYPED_TEST(OptimizerOf, SlicesOnOneRankAddAsRanksWithASliceEach) {
  using T = TypeParam;
  constexpr int64_t ranks = 3, size = 70001;
  ThreadPool pool(2, false);
  auto a = TestTensor<T>::random({ranks * size}, 1),
       b = TestTensor<T>::random({ranks * 5}, 2);
  double expected = 0, inRankOrder = 0;
  for (T value : a.storage)
    expected += double(value) * double(value);
  for (T value : b.storage)
    expected += double(value) * double(value);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor ofA = a.view, ofB = b.view;
    ofA.data += rank * size * sizeof(T), ofA.shape = {size};
    ofB.data += rank * 5 * sizeof(T), ofB.shape = {5};
    inRankOrder += GradientNorm({ofA, ofB}, {1}).compute(Norm::Two, pool);
  }
  double all = GradientNorm({a.view, b.view}, {ranks}).compute(Norm::Two, pool);
  EXPECT_EQ(all, inRankOrder);
  EXPECT_NEAR(all, expected, 1e-12 * expected);
}

} // namespace

// Optimizer steps against numbers worked out from torch.optim's documented
// formulas.
#include "runtime/cpu/optimizer/Optimizer.h"
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/AnyTensor.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <array>

using namespace shardc;
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
    // The largest average of squares is an old one: beta2 is small.
    {"amsgrad",
     Kind::AmsGrad,
     0.1,
     adam(0.9, 0.5, 1e-8, 0),
     {0.970054987985659, -1.964035988749250, 0.471728285238733}},
    {"amsgrad, clipped",
     Kind::AmsGrad,
     0.1,
     adam(0.9, 0.5, 1e-8, 0.5),
     {0.972156783390115, -1.966815300181412, 0.468300470950136}},
    {"lion",
     Kind::Lion,
     0.1,
     adam(0.9, 0.99, 0, 0),
     {0.967032989000000, -1.964035988000000, 0.468531489500000}},
    {"adagrad",
     Kind::Adagrad,
     0.1,
     adam(0, 0, 1e-10, 0),
     {0.974267842161064, -1.977169084828659, 0.482541201264673}},
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

/// The first of `all`, as many as the optimizer has.
std::vector<Tensor> statesOf(Kind kind, std::vector<Tensor> all) {
  for (const Optimizer &optimizer : optimizers)
    if (optimizer.kind == kind)
      all.resize(optimizer.states().size());
  return all;
}

/// The case's parameters, repeated over `count` elements of which the first is
/// left alone.
template <typename T>
std::vector<T> parametersAfter(const Case &of, int64_t count, int workers) {
  ThreadPool pool(workers, false);
  TestTensor<T> parameter({count}), gradient({count}), first({count}),
      second({count}), third({count});
  for (int64_t i = 0; i < count; ++i)
    parameter[i] = T(i % 3 == 0 ? 1 : i % 3 == 1 ? -2 : 0.5);
  OptimizerStep step;
  step.kind = of.kind;
  step.master = parameter.view;
  step.gradient = gradient.view;
  step.states = statesOf(of.kind, {first.view, second.view, third.view});
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

TYPED_TEST(OptimizerOf, FollowsItsFormula) {
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

TEST(Optimizer, IsFoundByItsName) {
  for (const Optimizer &optimizer : optimizers)
    EXPECT_EQ(findOptimizer(optimizer.name), &optimizer);
  EXPECT_EQ(findOptimizer("adamw")->states().size(), 2u);
  EXPECT_EQ(findOptimizer("sgd")->states().front(), "momentum_buffer");
  EXPECT_EQ(findOptimizer("adamax"), nullptr);
  EXPECT_EQ(optimizerNames(),
            "adamw, adam, sgd, lion, amsgrad, adagrad or muon");
}

// Algorithm 2 of arXiv:2302.06675, with gradients whose sign changes before
// that of their mean does, and one that is always zero.
TYPED_TEST(OptimizerOf, LionMovesByTheSignOfItsMean) {
  using T = TypeParam;
  constexpr int64_t count = 5;
  const double gradients[][count] = {{1, -1, 0, 0.5, 2},
                                     {-0.05, 0.5, 0, -3, 1},
                                     {0.01, -0.1, 0, 0.3, -1},
                                     {-1, 0.2, 0, 0.1, -0.001}};
  ThreadPool pool(1, false);
  TestTensor<T> parameter({count}, T(1)), gradient({count}), average({count});
  OptimizerStep step{Kind::Lion,
                     parameter.view,
                     gradient.view,
                     {average.view},
                     {{0, count, {2, 0.1}}}};
  StepNumbers n = adam(0.9, 0.95, 0, 0);
  n.gradientFactor = 0.5;
  std::vector<double> p(count, 1), m(count, 0);
  double rate = 2 * n.learningRate;
  for (const auto &row : gradients) {
    for (int64_t i = 0; i < count; ++i) {
      double g = row[i] * n.gradientFactor, c = 0.9 * m[i] + (1 - 0.9) * g;
      double sign = c > 0 ? 1 : c < 0 ? -1 : 0;
      p[i] -= rate * (sign + 0.1 * p[i]);
      m[i] = 0.95 * m[i] + (1 - 0.95) * g;
      gradient[i] = T(row[i]);
    }
    step.run(n, 0, pool);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_NEAR(parameter[i], p[i], tolerance<T>()) << i;
      EXPECT_NEAR(average[i], m[i], tolerance<T>()) << i;
    }
  }
}

TEST(Optimizer, ComputesInFloatAndRoundsOnce) {
  // Several blocks, and one that is not full.
  constexpr int64_t count = 3001;
  ThreadPool pool(2, false);
  StepNumbers n = adam(0.9, 0.95, 1e-3, 0);
  n.gradientFactor = 0.25;
  ParameterNumbers own{0.5, 0.1};
  for (plan::DType master : floats)
    for (plan::DType gradient : floats)
      for (plan::DType copy : floats)
        for (const Optimizer &optimizer : optimizers) {
          Kind kind = optimizer.kind;
          SCOPED_TRACE(testing::Message()
                       << dtypeName(master) << " " << dtypeName(gradient) << " "
                       << dtypeName(copy) << " " << int(kind));
          AnyTensor p(master, waves(count, 0.7, 0)),
              g(gradient, waves(count, 0.3, 1)),
              v(master, std::vector<double>(count, 0.5)),
              m(master,
                kind == Kind::Adagrad ? v.values() : waves(count, 1, 2)),
              s(master, waves(count, 2, 3)),
              c(copy, std::vector<double>(count, 9));
          // The same in one type, from what the types made of the values.
          bool isDouble = master == plan::FLOAT64;
          plan::DType wide = isDouble ? plan::FLOAT64 : plan::FLOAT32;
          AnyTensor wideP(wide, p.values()), wideG(wide, g.values()),
              wideM(wide, m.values()), wideV(wide, v.values()),
              wideS(wide, s.values());
          OptimizerStep step{kind,
                             p.view,
                             g.view,
                             statesOf(kind, {m.view, v.view, s.view}),
                             {{1, count - 1, own}},
                             c.view};
          OptimizerStep wideStep{
              kind,
              wideP.view,
              wideG.view,
              statesOf(kind, {wideM.view, wideV.view, wideS.view}),
              {{1, count - 1, own}}};
          n.momentum = 0.9;
          step.run(n, 0, pool);
          wideStep.run(n, 0, pool);
          AnyTensor expected(master, wideP.values());
          EXPECT_EQ(p.bytes, expected.bytes);
          EXPECT_EQ(m.bytes, AnyTensor(master, wideM.values()).bytes);
          EXPECT_EQ(v.bytes, AnyTensor(master, wideV.values()).bytes);
          EXPECT_EQ(s.bytes, AnyTensor(master, wideS.values()).bytes);
          std::vector<double> copied = expected.values();
          copied.front() = copied.back() = 9;
          EXPECT_EQ(c.bytes, AnyTensor(copy, copied).bytes);
        }
}

TEST(Optimizer, ParametersHaveNumbersOfTheirOwn) {
  ThreadPool pool(1, false);
  TestTensor<double> parameter({4}, 1.), gradient({4}, 1.), buffer({4});
  OptimizerStep step{Kind::Sgd,
                     parameter.view,
                     gradient.view,
                     {buffer.view},
                     {{0, 2, {0.5, 0}}, {2, 3, {2, 0.5}}}};
  StepNumbers n = sgd(0, false, 0);
  n.gradientFactor = 2;
  step.run(n, 0, pool);
  EXPECT_EQ(parameter.storage, (std::vector<double>{1 - 0.05 * 2, 1 - 0.05 * 2,
                                                    1 - 0.2 * 2.5, 1}));
}

TEST(Optimizer, ClippingComesAfterTheGradientFactor) {
  ThreadPool pool(1, false);
  for (double clip : {1.0, 100.0}) {
    TestTensor<double> parameter({1}, 0.), gradient({1}, 16.), buffer({1});
    OptimizerStep step{
        Kind::Sgd, parameter.view, gradient.view, {buffer.view}, {{0, 1}}};
    StepNumbers n = sgd(0, false, clip);
    n.learningRate = 1;
    n.gradientFactor = 0.25; // a gradient of 4
    step.run(n, 4, pool);
    EXPECT_NEAR(parameter[0], clip == 1 ? -1 : -4, 1e-6);
  }
}

TEST(Accumulate, AddsWordsOfExactSums) {
  ThreadPool pool(1, false);
  std::vector<int64_t> sum = {1, -5, INT64_MAX}, value = {2, 7, -1};
  auto tensorOf = [](std::vector<int64_t> &words) {
    Tensor tensor;
    tensor.data = reinterpret_cast<std::byte *>(words.data());
    tensor.dtype = plan::INT64;
    tensor.shape = {3};
    tensor.strides = {1};
    return tensor;
  };
  accumulate(tensorOf(sum), tensorOf(value), pool);
  EXPECT_EQ(sum, (std::vector<int64_t>{3, 2, INT64_MAX - 1}));
  assign(tensorOf(sum), tensorOf(value), pool);
  EXPECT_EQ(sum, value);
}

TEST(Accumulate, AddsInTheWiderTypeAndRoundsOnce) {
  constexpr int64_t count = 2500;
  ThreadPool pool(2, false);
  for (plan::DType to : floats)
    for (plan::DType from : floats) {
      SCOPED_TRACE(testing::Message()
                   << dtypeName(to) << " " << dtypeName(from));
      AnyTensor sum(to, waves(count, 0.7, 0)),
          value(from, waves(count, 0.2, 1));
      bool isDouble = to == plan::FLOAT64 || from == plan::FLOAT64;
      std::vector<double> expected = sum.values(), added = value.values();
      for (int64_t i = 0; i < count; ++i)
        expected[i] = isDouble ? expected[i] + added[i]
                               : float(expected[i]) + float(added[i]);
      accumulate(sum.view, value.view, pool);
      EXPECT_EQ(sum.bytes, AnyTensor(to, expected).bytes);
      assign(sum.view, value.view, pool);
      EXPECT_EQ(sum.bytes, AnyTensor(to, added).bytes);
    }
}

} // namespace

// Cross entropy, its gradient and the form fused with a linear layer, against
// the definition in double.
#include "runtime/cpu/loss/CrossEntropy.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

template <typename T> class CrossEntropyOf : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(CrossEntropyOf, Types);

constexpr int64_t ignored = -100;

template <typename Integer>
TestTensor<Integer> labelsFor(int64_t batch, int64_t length, int64_t classes) {
  TestTensor<Integer> labels({batch, length});
  for (int64_t i = 0; i < labels.elements(); ++i)
    labels[i] = i % 5 == 3 ? ignored : i * 31 % classes;
  return labels;
}

struct Reference {
  double loss = 0;
  int64_t correct = 0;
  std::vector<double> gradient;
};

/// From the definition; `logits` row-major [batch * length, classes].
template <typename Integer>
Reference reference(const std::vector<double> &logits, int64_t classes,
                    TestTensor<Integer> &labels, int64_t shift, double scale,
                    double smoothing = 0,
                    const std::vector<double> &weights = {}) {
  Reference r;
  r.gradient.assign(logits.size(), 0);
  int64_t length = labels.view.shape.back();
  for (int64_t row = 0; row < labels.elements(); ++row) {
    if (row % length + shift >= length || labels[row + shift] == ignored)
      continue;
    const double *of = logits.data() + row * classes;
    double maximum = *std::max_element(of, of + classes), sum = 0;
    for (int64_t j = 0; j < classes; ++j)
      sum += std::exp(of[j] - maximum);
    int64_t label = labels[row + shift];
    r.correct += std::max_element(of, of + classes) - of == label;
    long double mass = 0;
    for (int64_t j = 0; j < classes; ++j) {
      double wanted =
          ((j == label ? 1 - smoothing : 0) + smoothing / double(classes)) *
          (weights.empty() ? 1 : weights[j]);
      mass += weights.empty() ? 0 : wanted;
      r.loss += scale * wanted * (maximum + std::log(sum) - of[j]);
      r.gradient[row * classes + j] -= scale * wanted;
    }
    if (weights.empty())
      mass = 1;
    for (int64_t j = 0; j < classes; ++j)
      r.gradient[row * classes + j] +=
          scale * double(mass) * std::exp(of[j] - maximum) / sum;
  }
  return r;
}

template <typename T> std::vector<double> doubles(TestTensor<T> &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values.push_back(number(tensor[i]));
  return values;
}

TYPED_TEST(CrossEntropyOf, MatchesTheDefinition) {
  using T = TypeParam;
  struct Case {
    int64_t shift;
    double smoothing;
    bool isWeighted = false;
  };
  for (int64_t classes : {1, 3, 64, 1001})
    for (auto [shift, smoothing, isWeighted] : {Case{0, 0},
                                                {1, 0},
                                                {3, 0.1},
                                                {0, 0.3},
                                                {0, 1},
                                                {1, 0, true},
                                                {0, 0.3, true}}) {
      ThreadPool pool(3, false);
      auto logits = TestTensor<T>::random(
          {2, 6, classes}, {6 * (classes + 2), classes + 2, 1}, 1, 6);
      auto labels = labelsFor<int64_t>(2, 6, classes);
      const std::vector<int64_t> none;
      using C = ComputeOf<T>;
      TestTensor<C> scale(none, 0.125), loss(none), upstream(none, 3);
      TestTensor<T> gradient({2, 6, classes}, element<T>(77));
      std::vector<double> workspace(12);
      TestTensor<double> correct(none, 77);
      Labels of{labels.view, ignored, shift, smoothing};
      TestTensor<C> weights;
      if (isWeighted) {
        weights = TestTensor<C>({classes}, C(0.5));
        for (int64_t j = 0; j < classes; ++j)
          weights[j] = C(0.125) * C(j % 7);
        of.classWeights = weights.view;
      }
      crossEntropy(logits.view, of, scale.view, loss.view, correct.view,
                   reinterpret_cast<std::byte *>(workspace.data()), pool);
      Reference expected =
          reference(doubles(logits), classes, labels, shift, 0.125, smoothing,
                    isWeighted ? doubles(weights) : std::vector<double>());
      EXPECT_NEAR(loss.storage[0], expected.loss,
                  tolerance<C>() * (1 + expected.loss));
      EXPECT_EQ(correct.storage[0], expected.correct);
      crossEntropyGrad(logits.view, of, scale.view, upstream.view,
                       gradient.view, pool);
      for (double &value : expected.gradient)
        value *= 3;
      EXPECT_LE(deviation(gradient, expected.gradient), tolerance<T>());
    }
}

/// T: of inputs; W: of the gradients of weight and bias.
template <typename T, typename W = T> struct Fused {
  int64_t batch = 3, length = 7, features = 10, classes;
  TestTensor<T> input, weight, bias, inputGradient;
  TestTensor<W> weightGradient, biasGradient;
  TestTensor<ComputeOf<T>> scale{std::vector<int64_t>(), 0.25},
      loss{std::vector<int64_t>()};
  TestTensor<int32_t> labels;
  LinearCrossEntropy arguments;

  Fused(int64_t classes, bool transposed, bool withBias, int64_t chunkRows,
        int64_t shift)
      : classes(classes) {
    input = TestTensor<T>::random({batch, length, features}, 1);
    std::vector<int64_t> shape = {features, classes};
    if (transposed)
      std::swap(shape[0], shape[1]);
    weight = TestTensor<T>::random(shape, 2);
    bias = TestTensor<T>::random({classes}, 3);
    labels = labelsFor<int32_t>(batch, length, classes);
    inputGradient = TestTensor<T>({batch, length, features}, element<T>(77));
    weightGradient = TestTensor<W>(shape, element<W>(77));
    biasGradient = TestTensor<W>({classes}, element<W>(77));
    arguments.input = input.view;
    arguments.weight = weight.view;
    if (withBias)
      arguments.bias = bias.view;
    arguments.labels = {labels.view, ignored, shift};
    arguments.scale = scale.view;
    arguments.transposeWeight = transposed;
    arguments.loss = loss.view;
    arguments.chunkRows = chunkRows;
  }
  void withGradients() {
    arguments.inputGradient = inputGradient.view;
    arguments.weightGradient = weightGradient.view;
    arguments.biasGradient = biasGradient.view;
  }
  void run(int workers) {
    ThreadPool pool(workers, false);
    std::vector<double> workspace(
        linearCrossEntropyWorkspace(arguments, workers) / sizeof(double) + 8);
    linearCrossEntropy(arguments,
                       reinterpret_cast<std::byte *>(workspace.data()), pool);
  }
  double inputAt(int64_t row, int64_t in) {
    return number(input[row * features + in]);
  }
  double weightAt(int64_t in, int64_t out) {
    return number(arguments.transposeWeight ? weight.at({out, in})
                                            : weight.at({in, out}));
  }
};

template <typename T, typename W>
void fusedMatches(int64_t classes, bool transposed, bool withBias,
                  int64_t chunkRows, double softcap = 0, double smoothing = 0,
                  bool isWeighted = false) {
  Fused<T, W> fused(classes, transposed, withBias, chunkRows, 1);
  fused.arguments.softcap = softcap;
  fused.arguments.labels.smoothing = smoothing;
  TestTensor<ComputeOf<T>> weights({classes}, 1);
  for (int64_t j = 0; isWeighted && j < classes; ++j)
    weights[j] = ComputeOf<T>(0.125) * ComputeOf<T>(j % 7);
  if (isWeighted)
    fused.arguments.labels.classWeights = weights.view;
  const double ofLoss = tolerance<ComputeOf<T>>();
  int64_t rows = fused.batch * fused.length;
  std::vector<double> logits(rows * classes), slopes(rows * classes, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < classes; ++j) {
      double sum = withBias ? number(fused.bias.storage[j]) : 0;
      for (int64_t i = 0; i < fused.features; ++i)
        sum += fused.inputAt(row, i) * fused.weightAt(i, j);
      if (softcap != 0) {
        slopes[row * classes + j] = std::pow(std::cosh(sum / softcap), -2);
        sum = softcap * std::tanh(sum / softcap);
      }
      logits[row * classes + j] = sum;
    }
  Reference expected =
      reference(logits, classes, fused.labels, 1, 0.25, smoothing,
                isWeighted ? doubles(weights) : std::vector<double>());
  // Without gradients, as in evaluation.
  TestTensor<double> correct(std::vector<int64_t>(), 77);
  fused.arguments.correct = correct.view;
  fused.run(2);
  EXPECT_EQ(correct.storage[0], expected.correct);
  EXPECT_NEAR(fused.loss.storage[0], expected.loss, ofLoss * expected.loss);
  EXPECT_EQ(number(fused.weightGradient.storage[0]), 77);
  fused.withGradients();
  fused.run(2);
  EXPECT_NEAR(fused.loss.storage[0], expected.loss, ofLoss * expected.loss);
  std::vector<double> input(rows * fused.features),
      weight(fused.features * classes), bias(classes);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < classes; ++j) {
      double g =
          expected.gradient[row * classes + j] * slopes[row * classes + j];
      bias[j] += g;
      for (int64_t i = 0; i < fused.features; ++i) {
        input[row * fused.features + i] += g * fused.weightAt(i, j);
        weight[transposed ? j * fused.features + i : i * classes + j] +=
            g * fused.inputAt(row, i);
      }
    }
  EXPECT_LE(deviation(fused.inputGradient, input), tolerance<T>());
  EXPECT_LE(deviation(fused.weightGradient, weight), tolerance<W>());
  EXPECT_LE(deviation(fused.biasGradient, bias), tolerance<W>());
}

TYPED_TEST(CrossEntropyOf, FusedWithLinearMatchesTheDefinition) {
  using T = TypeParam;
  for (int64_t classes : {5, 300})
    for (bool transposed : {false, true})
      for (bool withBias : {false, true})
        for (int64_t chunkRows : {1, 4, 64}) {
          fusedMatches<T, T>(classes, transposed, withBias, chunkRows);
          // Gradients of parameters may be summed in float32 and stay so.
          fusedMatches<T, ComputeOf<T>>(classes, transposed, withBias,
                                        chunkRows);
        }
  for (double softcap : {0.4, 3.0})
    for (int64_t chunkRows : {4, 64})
      for (double smoothing : {0.0, 0.2})
        fusedMatches<T, T>(33, true, true, chunkRows, softcap, smoothing);
  fusedMatches<T, T>(300, true, true, 4, 0, 0.2);
  for (double softcap : {0.0, 0.4})
    for (double smoothing : {0.0, 0.2})
      fusedMatches<T, T>(33, true, true, 4, softcap, smoothing, true);
}

TYPED_TEST(CrossEntropyOf, FusedHasTheSameBitsForEveryNumberOfThreads) {
  using T = TypeParam;
  Fused<T> one(3000, true, true, 9, 0);
  one.withGradients();
  one.run(1);
  for (int workers : {2, 3, 4}) {
    Fused<T> many(3000, true, true, 9, 0);
    many.withGradients();
    many.run(workers);
    EXPECT_TRUE(sameBits(one.loss, many.loss));
    EXPECT_TRUE(sameBits(one.inputGradient, many.inputGradient));
    EXPECT_TRUE(sameBits(one.weightGradient, many.weightGradient));
    EXPECT_TRUE(sameBits(one.biasGradient, many.biasGradient));
  }
}

TYPED_TEST(CrossEntropyOf, OfEqualLogitsTheFirstIsTheLargest) {
  using T = TypeParam;
  ThreadPool pool(2, false);
  TestTensor<T> logits({4, 3}, element<T>(1));
  logits[3] = logits[4] = element<T>(2); // row 1: 2 2 1
  logits[8] = element<T>(std::numeric_limits<float>::quiet_NaN()); // row 2
  TestTensor<int64_t> labels({4});
  for (int64_t i = 0; i < 4; ++i)
    labels[i] = std::vector<int64_t>{0, 1, 2, ignored}[i];
  const std::vector<int64_t> none;
  TestTensor<ComputeOf<T>> scale(none, 1), loss(none);
  TestTensor<double> correct(none, 77);
  std::vector<double> workspace(4);
  auto count = [&] {
    crossEntropy(logits.view, {labels.view, ignored, 0}, scale.view, loss.view,
                 correct.view, reinterpret_cast<std::byte *>(workspace.data()),
                 pool);
    return correct.storage[0];
  };
  EXPECT_EQ(count(), 1); // row 0
  labels[1] = 0;
  EXPECT_EQ(count(), 2);
}

TYPED_TEST(CrossEntropyOf, ALabelOutsideTheClassesIsNamed) {
  using T = TypeParam;
  ThreadPool pool(2, false);
  auto logits = TestTensor<T>::random({2, 6, 9}, 1);
  auto labels = labelsFor<int64_t>(2, 6, 9);
  labels[8] = 9;
  labels[10] = -1;
  const std::vector<int64_t> none;
  TestTensor<ComputeOf<T>> scale(none, 1), loss(none);
  std::vector<double> workspace(12);
  try {
    crossEntropy(logits.view, {labels.view, ignored, 0}, scale.view, loss.view,
                 {}, reinterpret_cast<std::byte *>(workspace.data()), pool);
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "label 9 in row 8 of the labels is outside [0, 9) and is not "
                 "the ignored -100");
  }
}

} // namespace

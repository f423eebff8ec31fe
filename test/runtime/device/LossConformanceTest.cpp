// Cross entropy, its gradient, and both fused with a linear layer.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {
namespace {

struct Case {
  std::vector<int64_t> rows; // shape of the labels
  int64_t classes, shift = 0, ignoreIndex = -100;
  bool spaced = false;
  double scale = 1; // of the logits
  double smoothing = 0;
  bool isWeighted = false;

  /// Of a class; the first weighs nothing.
  double weight(int64_t c) const {
    return isWeighted ? 0.25 * double(c % 7) : 1;
  }
};
const Case cases[] = {{{}, 3},
                      {{1}, 1},
                      {{0}, 5},
                      {{7}, 2},
                      {{3, 5}, 33, 1},
                      {{3, 5}, 33, 9}, // no row has a label
                      {{4, 9}, 130, 1, -1, true},
                      {{2, 3, 4}, 17, 0, 5},
                      {{40}, 300, 0, -100, true},
                      {{6}, 20, 0, -100, false, 3000},
                      {{3, 5}, 33, 1, -100, false, 1, 0.1},
                      {{40}, 300, 0, -100, true, 1, 0.4},
                      {{4}, 1030, 0, 7, false, 30, 1},
                      {{3, 5}, 33, 1, -100, false, 1, 0, true},
                      {{40}, 300, 0, -100, true, 1, 0.4, true}};

std::vector<int64_t> logitsShape(const Case &of) {
  std::vector<int64_t> shape = of.rows;
  shape.push_back(of.classes);
  return shape;
}
/// Some are ignored.
Numbers labelsOf(const Case &of, plan::DType dtype) {
  Numbers labels = Numbers::integers(dtype, of.rows, 4, 0, of.classes - 1);
  for (int64_t i = 1; i < labels.elements(); i += 4)
    labels[i] = double(of.ignoreIndex);
  return labels;
}
entry::Labels put(Bench &bench, const Case &of, const Numbers &labels,
                  plan::DType dtype) {
  entry::Labels result{
      bench.put(labels), of.ignoreIndex, of.shift, of.smoothing, {}};
  if (!of.isWeighted)
    return result;
  Numbers weights(sumType(dtype), {of.classes});
  for (int64_t c = 0; c < of.classes; ++c)
    weights[c] = of.weight(c);
  result.classWeights = bench.put(weights);
  return result;
}
/// What row `row` is compared with, -1 for nothing.
int64_t labelAt(const Case &of, const Numbers &labels, int64_t row) {
  int64_t length = of.rows.empty() ? 1 : of.rows.back();
  if (row % length + of.shift >= length)
    return -1;
  auto label = int64_t(labels[row + of.shift]);
  return label == of.ignoreIndex ? -1 : label;
}

/// A row of logits, each off by `error` at most.
struct Row {
  const double *logits;
  int64_t classes;
  double error, u;
  const Case &of;
  double maximum, sum = 0;

  Row(const double *logits, int64_t classes, double error, double u,
      const Case &of)
      : logits(logits), classes(classes), error(error), u(u), of(of),
        maximum(*std::max_element(logits, logits + classes)) {
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(logits[c] - maximum);
  }
  /// Of what a row with this label should be, the part of class c.
  double wanted(int64_t c, int64_t label) const {
    return ((c == label ? 1 - of.smoothing : 0) +
            of.smoothing / double(classes)) *
           of.weight(c);
  }
  /// Of all classes.
  double mass(int64_t label) const {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      sum += wanted(c, label);
    return of.isWeighted ? sum : 1;
  }
  void addLoss(Expected &loss, int64_t label, double factor) const {
    double logSumExp = maximum + std::log(sum);
    double expected = 0, size = 0;
    for (int64_t c = 0; c < classes; ++c)
      if (double part = wanted(c, label); part != 0)
        expected += part * logits[c], size += part * std::fabs(logits[c]);
    double of = mass(label),
           off = 2 * std::max(1.0, of) * error +
                 double(classes + 16) * u *
                     (1 + std::max(1.0, of) * std::fabs(logSumExp) + size);
    loss.add(0, factor * (of * logSumExp - expected), std::fabs(factor) * off);
  }
  /// factor * (mass * softmax - wanted)
  double gradient(int64_t c, int64_t label, double factor) const {
    return factor * (mass(label) * std::exp(logits[c] - maximum) / sum -
                     wanted(c, label));
  }
  double gradientError(int64_t c, int64_t label, double factor) const {
    double below = maximum - logits[c], p = std::exp(-below) / sum;
    double relative = 2 * error + (16 + double(classes) + below) * u;
    return std::fabs(factor) * std::max(1.0, mass(label)) *
           ((p > 0 ? p * relative : 0) + 2 * u);
  }
};

SHARDC_CONFORMANCE(CrossEntropy);
SHARDC_CONFORMANCE(CrossEntropyGrad);

TEST_P(CrossEntropyConformance, IsTheScaledSumOverRows) {
  for (const Case &of : cases)
    for (plan::DType dtype : floatTypes)
      for (plan::DType labelType : {plan::INT64, plan::INT32})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - cases << ", " << plan::DType_Name(dtype));
          double u = sumRoundoff(dtype);
          Numbers logits =
                      Numbers::random(dtype, logitsShape(of), 1, 4 * of.scale),
                  labels = labelsOf(of, labelType),
                  scale(sumType(dtype), {}, 0.3);
          Tensor loss = bench.room(sumType(dtype), {});
          entry::CrossEntropy entry{
              bench.put(logits, of.spaced ? spaced(logits.shape, 3) : Layout()),
              put(bench, of, labels, dtype),
              bench.put(scale),
              loss,
              {}};
          bench.giveWorkspace(entry);
          bench.run(entry);
          Expected expected(1);
          for (int64_t row = 0; row < labels.elements(); ++row)
            if (int64_t label = labelAt(of, labels, row); label >= 0)
              Row(&logits.values[row * of.classes], of.classes, 0, u, of)
                  .addLoss(expected, label, scale[0]);
          bench.expect(loss, expected, "loss");
        });
}

TEST_P(CrossEntropyGradConformance, IsSoftmaxLessTheLabel) {
  for (const Case &of : cases)
    for (plan::DType dtype : floatTypes)
      for (bool inPlace : {false, true})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - cases << ", " << plan::DType_Name(dtype)
                       << (inPlace ? ", in place" : ""));
          double u = sumRoundoff(dtype);
          Numbers logits =
                      Numbers::random(dtype, logitsShape(of), 1, 4 * of.scale),
                  labels = labelsOf(of, plan::INT64),
                  scale(sumType(dtype), {}, 0.3),
                  gradient(sumType(dtype), {}, -700.0);
          Layout layout = of.spaced ? spaced(logits.shape, 3) : Layout();
          Tensor from = bench.put(logits, layout);
          Tensor to = inPlace ? from : bench.room(dtype, logits.shape, layout);
          bench.run(entry::CrossEntropyGrad{bench.put(gradient), from,
                                            put(bench, of, labels, dtype),
                                            bench.put(scale), to});
          Expected expected(logits.elements());
          double factor = scale[0] * gradient[0];
          for (int64_t row = 0; row < labels.elements(); ++row) {
            int64_t label = labelAt(of, labels, row);
            if (label < 0)
              continue;
            Row values(&logits.values[row * of.classes], of.classes, 0, u, of);
            for (int64_t c = 0; c < of.classes; ++c)
              expected.add(row * of.classes + c,
                           values.gradient(c, label, factor),
                           values.gradientError(c, label, factor));
          }
          bench.expect(to, expected, "logits_gradient");
        });
}

/// Classes that a mask has taken out.
TEST_P(CrossEntropyConformance, TakesLogitsOfMinusInfinity) {
  for (plan::DType dtype : floatTypes)
    onDevice([&](Bench &bench) {
      const Case of{{2}, 9};
      Numbers logits = Numbers::random(dtype, {2, 9}, 1);
      for (int64_t i : {0, 5, 8, 10})
        logits[i] = -INFINITY;
      Tensor loss = bench.room(sumType(dtype), {1});
      entry::CrossEntropy entry{
          bench.put(logits),
          {bench.put(Numbers(plan::INT64, {2}, {3, 4})), -100, 0, 0, {}},
          bench.put(Numbers(sumType(dtype), {1}, 1)),
          loss,
          {}};
      bench.giveWorkspace(entry);
      bench.run(entry);
      Expected expected(1);
      for (int64_t row = 0; row < 2; ++row)
        Row(&logits.values[row * 9], 9, 0, sumRoundoff(dtype), of)
            .addLoss(expected, 3 + row, 1);
      bench.expect(loss, expected, "loss");
      // The label's class itself.
      entry.labels.labels = bench.put(Numbers(plan::INT64, {2}, {5, 4}));
      bench.run(entry);
      bench.expect(loss, Expected(std::vector<double>{INFINITY}), "loss");
    });
}

TEST_P(CrossEntropyConformance, ALabelOutsideTheClassesIsAnError) {
  for (double wrong : {9.0, -1.0})
    onDevice([&](Bench &bench) {
      entry::CrossEntropy entry{
          bench.put(Numbers(plan::FLOAT32, {3, 9})),
          {bench.put(Numbers(plan::INT64, {3}, {3, -100, wrong})),
           -100,
           0,
           0,
           {}},
          bench.put(Numbers(plan::FLOAT32, {1}, 1)),
          bench.room(plan::FLOAT32, {1}),
          {}};
      bench.giveWorkspace(entry);
      std::string error = bench.errorOf({entry});
      EXPECT_EQ(error.find("entry 0: "), 0u) << error;
      EXPECT_NE(error.find(" row 2 "), std::string::npos) << error;
    });
}

//===----------------------------------------------------------------------===//
// Fused with a linear layer
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(LinearCrossEntropy);

struct LinearCase {
  Case loss;
  int64_t features, chunkRows;
  bool transposeWeight = false, bias = false;
  /// Which gradients are asked for.
  bool ofInput = true, ofWeight = true, ofBias = false;
  /// Those of weight and bias are float32.
  bool wide = false;
  double softcap = 0;
};
const LinearCase linearCases[] = {
    {{{}, 3}, 2, 1},
    {{{0}, 5}, 4, 3, true, true, true, true, true},
    {{{3, 5}, 33, 1}, 17, 4, false, true, true, true, true},
    {{{3, 5}, 33, 1}, 17, 4, true, true, true, true, true, true},
    {{{4, 9}, 70, 1, -1, true}, 40, 100, true},
    {{{40}, 130, 0, -100, true}, 65, 8, false, true, true, false, true},
    {{{40}, 130}, 65, 7, true, false, false, true},
    {{{12}, 9}, 5, 5, true, true, false, false, true},
    {{{12}, 9}, 5, 5, false, true, false, false, false},
    {{{12}, 9}, 5, 5, false, true, false, false, false, false, 0.6},
    {{{3, 5}, 33, 1}, 17, 4, true, true, true, true, true, false, 1.5},
    {{{3, 5}, 33, 1, -100, false, 1, 0.2}, 17, 4, true, true, true, true, true},
    {.loss = {.rows = {12}, .classes = 9, .smoothing = 0.5},
     .features = 5,
     .chunkRows = 5,
     .bias = true,
     .softcap = 0.6},
    {.loss = {.rows = {12}, .classes = 9, .smoothing = 0.5, .isWeighted = true},
     .features = 5,
     .chunkRows = 5,
     .bias = true,
     .softcap = 0.6},
    {{{3, 5}, 33, 1, -100, false, 1, 0, true}, 17, 4, true, true, true, true}};

/// Operands, and results in float64.
struct Linear {
  const LinearCase &of;
  plan::DType dtype;
  /// Whether logits and their gradient are rounded to the type.
  bool rounds;
  int64_t rows = countOf(of.loss.rows), classes = of.loss.classes,
          features = of.features;
  Numbers input, weight, bias, labels, scale;
  Expected loss{1}, inputGradient, weightGradient, biasGradient;

  Linear(const LinearCase &of, plan::DType dtype, bool rounds)
      : of(of), dtype(dtype), rounds(rounds),
        bias(Numbers::random(dtype, {classes}, 3)),
        labels(labelsOf(of.loss, plan::INT64)), scale(sumType(dtype), {}, 0.2),
        inputGradient(rows * features), weightGradient(features * classes),
        biasGradient(classes) {
    std::vector<int64_t> shape = of.loss.rows;
    shape.push_back(features);
    input = Numbers::random(dtype, shape, 1);
    weight = Numbers::random(dtype,
                             of.transposeWeight
                                 ? std::vector<int64_t>{classes, features}
                                 : std::vector<int64_t>{features, classes},
                             2);
    for (int64_t row = 0; row < rows; ++row)
      addRow(row);
  }

  int64_t weightAt(int64_t f, int64_t c) const {
    return of.transposeWeight ? c * features + f : f * classes + c;
  }
  void addRow(int64_t row) {
    int64_t label = labelAt(of.loss, labels, row);
    if (label < 0)
      return;
    double u = sumRoundoff(dtype), error = 0;
    std::vector<double> logits(classes), slopes(classes, 1);
    for (int64_t c = 0; c < classes; ++c) {
      double size = of.bias ? std::fabs(bias[c]) : 0;
      logits[c] = of.bias ? bias[c] : 0;
      for (int64_t f = 0; f < features; ++f) {
        double term = input[row * features + f] * weight[weightAt(f, c)];
        logits[c] += term;
        size += std::fabs(term);
      }
      double rounding = rounds ? roundoff(dtype) * std::fabs(logits[c]) : 0;
      if (of.softcap != 0) {
        // A tanh, and a scale before and behind it.
        slopes[c] = 1 / std::pow(std::cosh(logits[c] / of.softcap), 2);
        logits[c] = of.softcap * std::tanh(logits[c] / of.softcap);
        size += 8 * of.softcap;
      }
      error = std::max(error, double(features + 2) * u * size + rounding);
    }
    Row values(logits.data(), classes, error, u, of.loss);
    values.addLoss(loss, label, scale[0]);
    for (int64_t c = 0; c < classes; ++c) {
      double slope = values.gradient(c, label, scale[0]);
      double off = values.gradientError(c, label, scale[0]);
      if (of.softcap != 0)
        off += std::fabs(slope) * 2 * error / of.softcap;
      slope *= slopes[c];
      if (rounds) // the least float16 is 2^-24
        off += roundoff(dtype) * std::fabs(slope) +
               (dtype == plan::FLOAT16 ? 0x1p-25 : 0);
      auto add = [&](Expected &to, int64_t at, double factor, int64_t terms) {
        to.add(at, slope * factor,
               std::fabs(factor) *
                   (off + double(terms + 2) * u * std::fabs(slope)));
      };
      add(biasGradient, c, 1, rows);
      for (int64_t f = 0; f < features; ++f) {
        add(inputGradient, row * features + f, weight[weightAt(f, c)], classes);
        add(weightGradient, weightAt(f, c), input[row * features + f], rows);
      }
    }
  }

  void run(Bench &bench) const {
    auto layout = [&](const Numbers &numbers) {
      return of.loss.spaced ? spaced(numbers.shape, 5) : Layout();
    };
    entry::LinearCrossEntropy entry;
    entry.input = bench.put(input, layout(input));
    entry.weight = bench.put(weight, layout(weight));
    if (of.bias)
      entry.bias = bench.put(bias);
    entry.labels = put(bench, of.loss, labels, dtype);
    entry.scale = bench.put(scale);
    entry.transposeWeight = of.transposeWeight;
    entry.loss = bench.room(scale.dtype, {});
    entry.chunkRows = of.chunkRows;
    entry.softcap = of.softcap;
    plan::DType sums = of.wide ? sumType(dtype) : dtype;
    if (of.ofInput)
      entry.inputGradient = bench.room(dtype, input.shape, layout(input));
    if (of.ofWeight)
      entry.weightGradient = bench.room(sums, weight.shape, layout(weight));
    if (of.ofBias)
      entry.biasGradient = bench.room(sums, {classes});
    bench.giveWorkspace(entry);
    bench.run(entry);
    bench.expect(entry.loss, loss, "loss");
    if (of.ofInput)
      bench.expect(entry.inputGradient, inputGradient, "input_gradient");
    if (of.ofWeight)
      bench.expect(entry.weightGradient, weightGradient, "weight_gradient");
    if (of.ofBias)
      bench.expect(entry.biasGradient, biasGradient, "bias_gradient");
  }
};

TEST_P(LinearCrossEntropyConformance, IsTheLossOfALinearLayerAndItsGradients) {
  for (const LinearCase &of : linearCases)
    for (plan::DType dtype : floatTypes)
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << &of - linearCases << ", " << plan::DType_Name(dtype));
        Linear(of, dtype, isNarrow(dtype) && GetParam().roundsFactors)
            .run(bench);
      });
}

TEST_P(LinearCrossEntropyConformance, ALabelOutsideTheClassesIsAnError) {
  onDevice([&](Bench &bench) {
    entry::LinearCrossEntropy entry;
    entry.input = bench.put(Numbers(plan::BFLOAT16, {3, 2}));
    entry.weight = bench.put(Numbers(plan::BFLOAT16, {2, 5}));
    entry.labels = {
        bench.put(Numbers(plan::INT64, {3}, {4, 5, 0})), -100, 0, 0, {}};
    entry.scale = bench.put(Numbers(plan::FLOAT32, {}, 1));
    entry.loss = bench.room(plan::FLOAT32, {});
    entry.chunkRows = 2;
    bench.giveWorkspace(entry);
    std::string error = bench.errorOf({entry});
    EXPECT_EQ(error.find("entry 0: "), 0u) << error;
    EXPECT_NE(error.find(" row 1 "), std::string::npos) << error;
  });
}

} // namespace
} // namespace shardc::runtime

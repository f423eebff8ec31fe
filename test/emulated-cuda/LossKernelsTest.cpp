// The PTX of cross entropy beside plain loops in float64, and the functions that
// it computes with beside long double.
#include "RunKernel.h"
#include "runtime/cuda/kernels/CrossEntropyParameters.h"
#include "runtime/cuda/kernels/Math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Units in the last place of a normal number.
template <typename T> double ulps(T got, long double expected) {
  if (got == T(expected))
    return 0;
  long double ulp = std::ldexp(1.0L, std::ilogb(expected) -
                                         std::numeric_limits<T>::digits + 1);
  return double(std::fabs(got - expected) / ulp);
}

TEST(DeviceMath, ExponentialIsNearTheExactOne) {
  std::mt19937_64 random(1);
  double worst = 0, worstFloat = 0;
  for (int i = 0; i < 200000; ++i) {
    double range = i % 2 ? 708 : 2;
    double x = std::uniform_real_distribution<double>(-range, range)(random);
    worst = std::max(worst, ulps(exponential(x), std::exp((long double)x)));
    auto y = float(x / 8.2);
    worstFloat =
        std::max(worstFloat, ulps(exponential(y), std::exp((long double)y)));
  }
  EXPECT_LT(worst, 1);
  EXPECT_LT(worstFloat, 4);
  for (double x : {-745.0, -740.5, -708.9}) // subnormal
    EXPECT_NEAR(exponential(x), std::exp(x), 0x1p-1074);
  EXPECT_EQ(exponential(double(INFINITY)), INFINITY);
  EXPECT_EQ(exponential(-double(INFINITY)), 0);
  EXPECT_TRUE(std::isnan(exponential(double(NAN))));
  EXPECT_EQ(exponential(INFINITY), INFINITY);
  EXPECT_EQ(exponential(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(exponential(NAN)));
  EXPECT_EQ(exponential(0.0), 1);
  EXPECT_EQ(exponential(0.0f), 1);
}

TEST(DeviceMath, LogarithmIsNearTheExactOne) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    double x = std::uniform_real_distribution<double>(-700, 700)(random);
    x = i % 3 == 0 ? std::exp(x) : i % 3 == 1 ? 1 + x * 1e-3 : std::fabs(x);
    if (x > 0 && x != 1)
      worst = std::max(worst, ulps(logarithm(x), std::log((long double)x)));
  }
  EXPECT_LT(worst, 1);
  EXPECT_EQ(logarithm(1), 0);
  EXPECT_EQ(logarithm(0), -INFINITY);
  EXPECT_EQ(logarithm(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(logarithm(-1)));
  EXPECT_TRUE(std::isnan(logarithm(NAN)));
  EXPECT_NEAR(logarithm(0x1p-1074), std::log(0x1p-1074), 1e-12);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

template <typename T> constexpr const char *nameOf = "f32";
template <> constexpr const char *nameOf<double> = "f64";
template <> constexpr const char *nameOf<Bf16> = "bf16";
template <> constexpr const char *nameOf<F16> = "f16";
/// Of one operation that is computed, and of the type's own rounding.
template <typename T> constexpr double computeRoundoff = 0x1p-24;
template <> constexpr double computeRoundoff<double> = 0x1p-53;
template <typename T> constexpr double storeRoundoff = computeRoundoff<T>;
template <> constexpr double storeRoundoff<Bf16> = 0x1p-8;
template <> constexpr double storeRoundoff<F16> = 0x1p-11;
template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

struct Case {
  int64_t rows, classes, shift = 0;
  int64_t gap = 0; // elements between rows, and before the first
  double size = 4; // of logits
  int64_t threads = 256;
};
constexpr Case cases[] = {{5, 3},
                          {1, 1},
                          {7, 1000, 1},
                          {7, 4099, 0, 3},
                          {4, 3000, 2, 8},
                          {6, 200, 0, 0, 3000},
                          {6, 100, 1, 0, 4, 64}};

/// Operands and results of a launch.
template <typename T> struct Rows {
  const Case &of;
  int64_t stride = of.classes + of.gap;
  std::vector<T> logits = std::vector<T>(of.gap + of.rows * stride + 16);
  std::vector<T> gradient = logits;
  std::vector<double> losses = std::vector<double>(of.rows, NAN);
  std::vector<int> labels = std::vector<int>(of.rows);
  Computed<T> scale = Computed<T>(0.3), outer = -7;
  int64_t correct = 5;
  uint64_t fault = ~uint64_t(0);

  explicit Rows(const Case &of) : of(of) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (T &logit : logits)
      runtime::cuda::round(of.size * normal(random), logit);
    for (int64_t i = 0; i < of.rows; ++i)
      labels[i] = i % 4 == 3 ? -100 : int(random() % of.classes);
  }
  double logit(int64_t row, int64_t i) const {
    return widen(logits[of.gap + row * stride + i]);
  }
  int64_t labelOf(int64_t row) const {
    return row + of.shift < of.rows ? labels[row + of.shift] : -100;
  }
  CrossEntropyParameters parameters() {
    CrossEntropyParameters with{};
    with.logits = addressIn(logits.data() + of.gap);
    with.rows = of.rows, with.stride = stride;
    with.labels.labels = addressIn(labels.data());
    with.labels.rank = 1;
    with.labels.sizes[0] = of.rows, with.labels.strides[0] = 1;
    with.labels.length = of.rows;
    with.labels.ignoreIndex = -100, with.labels.shift = of.shift;
    with.labels.classes = of.classes;
    with.labels.fault = addressIn(&fault);
    with.losses = addressIn(losses.data());
    with.correct = addressIn(&correct);
    with.gradient = addressIn(gradient.data() + of.gap);
    with.gradientStride = stride;
    with.scale = addressIn(&scale), with.outer = addressIn(&outer);
    return with;
  }

  /// Compares a row of what a launch has written. Returns whether the label's
  /// logit is the first largest.
  bool check(int64_t row) const {
    int64_t label = labelOf(row);
    const T *slopes = &gradient[of.gap + row * stride];
    if (label < 0) {
      EXPECT_EQ(losses[row], 0);
      for (int64_t i = 0; i < of.classes; ++i)
        EXPECT_EQ(widen(slopes[i]), 0);
      return false;
    }
    double largest = logit(row, 0), sum = 0, u = computeRoundoff<T>;
    int64_t top = 0;
    for (int64_t i = 1; i < of.classes; ++i)
      if (logit(row, i) > largest)
        largest = logit(row, top = i);
    for (int64_t i = 0; i < of.classes; ++i)
      sum += std::exp(logit(row, i) - largest);
    double logSum = largest + std::log(sum);
    EXPECT_NEAR(losses[row], logSum - logit(row, label),
                (32 + std::fabs(logSum)) * u);
    double factor = double(scale) * double(outer);
    for (int64_t i = 0; i < of.classes; ++i) {
      double p = std::exp(logit(row, i) - largest) / sum,
             slope = factor * (p - (i == label)),
             error = std::fabs(factor) * (p * 48 + 2) * u +
                     std::fabs(slope) * storeRoundoff<T> + 0x1p-25;
      EXPECT_NEAR(widen(slopes[i]), slope, error) << "class " << i;
    }
    return top == label;
  }
};

template <typename T> void checkRows() {
  for (const Case &of : cases)
    for (bool inPlace : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << nameOf<T> << ", case " << &of - cases << ", " << inPlace);
      Rows<T> rows(of), results(of);
      if (inPlace)
        results.gradient = results.logits;
      CrossEntropyParameters with = results.parameters();
      if (inPlace)
        with.logits = with.gradient;
      runKernel("CrossEntropy", std::string("cross_entropy_") + nameOf<T>,
                of.threads, with);
      rows.losses = results.losses, rows.gradient = results.gradient;
      int64_t correct = 5;
      for (int64_t row = 0; row < of.rows; ++row)
        correct += rows.check(row);
      EXPECT_EQ(results.correct, correct);
      EXPECT_EQ(results.fault, ~uint64_t(0));
    }
}

TEST(LossPtx, CrossEntropyOfFloat64) { checkRows<double>(); }
TEST(LossPtx, CrossEntropyOfFloat32) { checkRows<float>(); }
TEST(LossPtx, CrossEntropyOfBfloat16) { checkRows<Bf16>(); }
TEST(LossPtx, CrossEntropyOfFloat16) { checkRows<F16>(); }

TEST(LossPtx, OfEqualLogitsTheFirstIsTheLargest) {
  constexpr Case of{4, 600};
  Rows<float> rows(of);
  std::ranges::fill(rows.logits, 1.0f);
  rows.labels = {0, 1, 599, 0};
  rows.logits[3 * 600 + 0] = NAN;
  rows.correct = 0;
  runKernel("CrossEntropy", "cross_entropy_f32", 256, rows.parameters());
  EXPECT_EQ(rows.correct, 1);
  EXPECT_TRUE(std::isnan(rows.losses[3]));
}

TEST(LossPtx, MaskedClassesDoNotCount) {
  constexpr Case of{2, 600};
  Rows<Bf16> rows(of);
  Bf16 minusInfinity, one;
  runtime::cuda::round(-INFINITY, minusInfinity);
  runtime::cuda::round(1, one);
  std::ranges::fill(rows.logits, minusInfinity);
  rows.logits[3] = rows.logits[599] = rows.logits[600 + 17] = one;
  rows.labels = {3, 5};
  runKernel("CrossEntropy", "cross_entropy_bf16", 256, rows.parameters());
  EXPECT_NEAR(rows.losses[0], std::log(2), 1e-7);
  EXPECT_EQ(rows.losses[1], INFINITY);
  EXPECT_EQ(widen(rows.gradient[4]), 0);
}

TEST(LossPtx, TheFirstWrongLabelIsReported) {
  constexpr Case of{7, 9};
  Rows<float> rows(of);
  rows.labels = {1, -100, 8, 2, 9, -1, 0};
  runKernel("CrossEntropy", "cross_entropy_f32", 256, rows.parameters());
  EXPECT_EQ(rows.fault, faultOf(4, 9));
  EXPECT_EQ(int32_t(faultOf(3, -1)), -1);
  EXPECT_EQ(int32_t(faultOf(3, int64_t(1) << 40)), INT32_MAX);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

TEST(LossPtx, LossIsTheScaledSumOfRows) {
  std::vector<double> losses(1000);
  std::iota(losses.begin(), losses.end(), 0.25);
  double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  double scale = 0.3, loss = 0;
  float scaleFloat = 0.3f, lossFloat = 0;
  int64_t correct = 77;
  runKernel("CrossEntropy", "loss_sum_f64", 256,
            LossSumParameters{addressIn(losses.data()), 1000, addressIn(&scale),
                              addressIn(&loss), 0},
            true);
  EXPECT_EQ(loss, scale * sum);
  runKernel("CrossEntropy", "loss_sum_f32", 256,
            LossSumParameters{addressIn(losses.data()), 1000,
                              addressIn(&scaleFloat), addressIn(&lossFloat),
                              addressIn(&correct)},
            true);
  EXPECT_EQ(lossFloat, float(double(scaleFloat) * sum));
  EXPECT_EQ(std::bit_cast<double>(correct), 77);
}

template <typename T> void checkColumnSums() {
  constexpr int64_t rows = 37, columns = 801, stride = 832;
  std::vector<T> matrix(rows * stride);
  std::mt19937 random(1);
  for (T &element : matrix)
    runtime::cuda::round(std::normal_distribution<double>()(random), element);
  std::vector<Computed<T>> sums(columns, 3), expected = sums;
  for (Count adds : {1, 0}) {
    for (int64_t column = 0; column < columns; ++column) {
      Computed<T> &sum = expected[column];
      if (!adds)
        sum = 0;
      for (int64_t row = 0; row < rows; ++row)
        sum += Computed<T>(widen(matrix[row * stride + column]));
    }
    runKernel("CrossEntropy", std::string("column_sums_") + nameOf<T>, 256,
              ColumnSumsParameters{addressIn(matrix.data()), rows, columns,
                                   stride, addressIn(sums.data()), adds});
    EXPECT_EQ(sums, expected);
  }
}

TEST(LossPtx, ColumnsAreAddedInTheOrderOfRows) {
  checkColumnSums<double>();
  checkColumnSums<float>();
  checkColumnSums<Bf16>();
  checkColumnSums<F16>();
}

template <typename T> void checkRoundRows(int64_t columns, int64_t stride) {
  constexpr int64_t rows = 9;
  std::vector<float> source(rows * columns);
  std::mt19937 random(1);
  for (float &element : source)
    element = std::normal_distribution<float>()(random);
  std::vector<T> got(rows * stride), expected = got;
  for (int64_t i = 0; i < rows * columns; ++i)
    runtime::cuda::round(source[i],
                         expected[i / columns * stride + i % columns]);
  runKernel("CrossEntropy", std::string("round_rows_") + nameOf<T>, 256,
            RoundRowsParameters{addressIn(source.data()), addressIn(got.data()),
                                rows, columns, stride});
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)),
            0);
}

TEST(LossPtx, RowsAreRoundedOnce) {
  for (auto [columns, stride] : {std::pair{64, 64}, {1000, 1008}, {33, 38}}) {
    checkRoundRows<Bf16>(columns, stride);
    checkRoundRows<F16>(columns, stride);
  }
}

} // namespace
} // namespace shardc::test

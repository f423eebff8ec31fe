// The vectorized inner loops against plain double arithmetic.
#include "runtime/cpu/simd/Simd.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

template <typename T> class SimdLoops : public testing::Test {
protected:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SimdLoops, Types);

// exp(x) by way of softmaxRow: with 0 in the row and nothing larger, score
// becomes exp(score).
template <typename T> std::vector<T> exponentials(std::vector<T> values) {
  values.push_back(0);
  simd<T>().softmaxRow(values.data(), nullptr, nullptr,
                       -std::numeric_limits<T>::infinity(), values.size());
  values.pop_back();
  return values;
}

TYPED_TEST(SimdLoops, ExponentialIsWithinTwoUnitsInTheLastPlace) {
  using T = TypeParam;
  std::vector<T> values;
  double lowest = std::is_same_v<T, float> ? -87.3 : -708.3;
  for (int i = 0; i < 200000; ++i)
    values.push_back(T(lowest * i / 200000));
  for (int i = 0; i < 1000; ++i)
    values.push_back(T(-std::exp2(-i / 20.0)));
  std::vector<T> results = exponentials(values);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    long double exact = std::exp(static_cast<long double>(values[i]));
    T nearest = T(exact);
    long double unit =
        std::nextafter(nearest, std::numeric_limits<T>::infinity()) - nearest;
    worst = std::max(worst, double(std::fabs((results[i] - exact) / unit)));
  }
  EXPECT_LE(worst, 2);
}

TYPED_TEST(SimdLoops, ExponentialAtTheEdges) {
  using T = TypeParam;
  std::vector<T> results =
      exponentials<T>({0, T(-0.0), -this->infinity, T(-1e30), T(-1000)});
  EXPECT_EQ(results[0], 1);
  EXPECT_EQ(results[1], 1);
  EXPECT_EQ(results[2], 0);
  EXPECT_EQ(results[3], 0);
  EXPECT_EQ(results[4], 0);
  EXPECT_TRUE(std::isnan(exponentials<T>({this->nan})[0]));
}

TYPED_TEST(SimdLoops, SoftmaxRowTakesBiasMaskAndFloor) {
  using T = TypeParam;
  for (int64_t count : {1, 7, 16, 33, 100}) {
    auto scores = TestTensor<T>::random({count}, 1, 5);
    auto bias = TestTensor<T>::random({count}, 2, 5);
    std::vector<uint8_t> mask(count);
    for (int64_t i = 0; i < count; ++i)
      mask[i] = i % 3 != 1;
    T floor = 2;
    double maximum = floor, sum = 0;
    for (int64_t i = 0; i < count; ++i)
      if (mask[i])
        maximum =
            std::max(maximum, double(scores.storage[i] + bias.storage[i]));
    std::vector<double> expected(count);
    for (int64_t i = 0; i < count; ++i) {
      expected[i] =
          mask[i]
              ? std::exp(double(scores.storage[i] + bias.storage[i]) - maximum)
              : 0;
      sum += expected[i];
    }
    RowSum<T> result = simd<T>().softmaxRow(
        scores.storage.data(), bias.storage.data(), mask.data(), floor, count);
    EXPECT_EQ(result.maximum, T(maximum));
    EXPECT_NEAR(result.sum, sum, sum * tolerance<T>());
    EXPECT_LE(deviation(scores, expected), tolerance<T>());
  }
}

TYPED_TEST(SimdLoops, AFullyMaskedRowBecomesZeros) {
  using T = TypeParam;
  std::vector<T> scores(21, 3);
  std::vector<uint8_t> mask(21, 0);
  RowSum<T> result = simd<T>().softmaxRow(scores.data(), nullptr, mask.data(),
                                          -this->infinity, 21);
  EXPECT_EQ(result.maximum, -this->infinity);
  EXPECT_EQ(result.sum, 0);
  for (T score : scores)
    EXPECT_EQ(score, 0);
  std::fill(scores.begin(), scores.end(), T(3));
  simd<T>().probabilityRow(scores.data(), nullptr, mask.data(), -this->infinity,
                           21);
  for (T score : scores)
    EXPECT_EQ(score, 0);
}

TYPED_TEST(SimdLoops, NotANumberIsNotLost) {
  using T = TypeParam;
  for (int64_t at : {0, 5, 18}) {
    std::vector<T> scores(19, 1);
    scores[at] = this->nan;
    EXPECT_TRUE(std::isnan(
        simd<T>()
            .softmaxRow(scores.data(), nullptr, nullptr, -this->infinity, 19)
            .sum));
    std::vector<T> logits(19, 1);
    logits[at] = this->nan;
    double sum;
    EXPECT_TRUE(std::isnan(
        simd<T>().logSumExp(logits.data(), nullptr, &sum, logits.size())));
  }
  std::vector<T> all(19, this->nan);
  EXPECT_TRUE(std::isnan(
      simd<T>()
          .softmaxRow(all.data(), nullptr, nullptr, -this->infinity, 19)
          .sum));
}

TYPED_TEST(SimdLoops, LogSumExpOfLongRows) {
  using T = TypeParam;
  for (int64_t count : {1, 15, 1000, 50257}) {
    auto logits = TestTensor<T>::random({count}, 3, 10);
    double maximum = -INFINITY, sum = 0;
    for (T logit : logits.storage)
      maximum = std::max(maximum, double(logit));
    for (T logit : logits.storage)
      sum += std::exp(double(logit) - maximum);
    std::vector<T> exponentials(count);
    double got;
    double result = simd<T>().logSumExp(logits.storage.data(),
                                        exponentials.data(), &got, count);
    EXPECT_NEAR(result, maximum + std::log(sum), tolerance<T>());
    EXPECT_NEAR(got, sum, sum * tolerance<T>());
    EXPECT_NEAR(exponentials[count / 2],
                std::exp(double(logits.storage[count / 2]) - maximum),
                tolerance<T>());
  }
}

TYPED_TEST(SimdLoops, SumsOfSquaresAreInDouble) {
  using T = TypeParam;
  for (int64_t count : {0, 1, 17, 100003}) {
    auto values = TestTensor<T>::random({count}, 4, 3);
    values.storage.resize(count);
    double expected = 0;
    for (T value : values.storage)
      expected += double(value) * double(value);
    EXPECT_NEAR(simd<T>().squaredNorm(values.storage.data(), count), expected,
                1e-13 * expected);
    EXPECT_NEAR(
        simd<T>().dot(values.storage.data(), values.storage.data(), count),
        expected, 1e-13 * expected);
  }
}

TYPED_TEST(SimdLoops, SumKeepsTheOrderOfTheSources) {
  using T = TypeParam;
  int64_t count = 37;
  auto a = TestTensor<T>::random({count}, 5),
       b = TestTensor<T>::random({count}, 6),
       c = TestTensor<T>::random({count}, 7);
  std::vector<T> expected(count), other(count);
  for (int64_t i = 0; i < count; ++i)
    expected[i] = a.storage[i] + b.storage[i] + c.storage[i];
  const T *sources[] = {a.storage.data(), b.storage.data(), c.storage.data()};
  T *destinations[] = {b.storage.data(), other.data()};
  simd<T>().sum(destinations, 2, sources, 3, count);
  EXPECT_EQ(b.storage, expected);
  EXPECT_EQ(other, expected);
}

} // namespace

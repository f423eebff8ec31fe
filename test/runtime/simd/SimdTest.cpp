// The vectorized inner loops against plain double arithmetic.
#include "runtime/simd/Simd.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace shardc::runtime;
using namespace shardc::runtime::simd;

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
  simd::loops<T>().softmaxRow(values.data(), nullptr, nullptr,
                              -std::numeric_limits<T>::infinity(),
                              values.size());
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
    simd::RowSum<T> result = simd::loops<T>().softmaxRow(
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
  simd::RowSum<T> result = simd::loops<T>().softmaxRow(
      scores.data(), nullptr, mask.data(), -this->infinity, 21);
  EXPECT_EQ(result.maximum, -this->infinity);
  EXPECT_EQ(result.sum, 0);
  for (T score : scores)
    EXPECT_EQ(score, 0);
  std::fill(scores.begin(), scores.end(), T(3));
  simd::loops<T>().probabilityRow(scores.data(), nullptr, mask.data(),
                                  -this->infinity, 21);
  for (T score : scores)
    EXPECT_EQ(score, 0);
}

TYPED_TEST(SimdLoops, NotANumberIsNotLost) {
  using T = TypeParam;
  for (int64_t at : {0, 5, 18}) {
    std::vector<T> scores(19, 1);
    scores[at] = this->nan;
    EXPECT_TRUE(std::isnan(
        simd::loops<T>()
            .softmaxRow(scores.data(), nullptr, nullptr, -this->infinity, 19)
            .sum));
    std::vector<T> logits(19, 1);
    logits[at] = this->nan;
    double sum;
    EXPECT_TRUE(std::isnan(simd::loops<T>().logSumExp(logits.data(), nullptr,
                                                      &sum, logits.size())));
  }
  std::vector<T> all(19, this->nan);
  EXPECT_TRUE(std::isnan(
      simd::loops<T>()
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
    double result = simd::loops<T>().logSumExp(
        logits.storage.data(), exponentials.data(), &got, count);
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
    EXPECT_NEAR(simd::loops<T>().squaredNorm(values.storage.data(), count),
                expected, 1e-13 * expected);
    EXPECT_NEAR(simd::loops<T>().dot(values.storage.data(),
                                     values.storage.data(), count),
                expected, 1e-13 * expected);
  }
}

TYPED_TEST(SimdLoops, OtherNormsSumAbsoluteValuesAndFindTheLargest) {
  using T = TypeParam;
  for (int64_t count : {0, 1, 15, 17, 5003}) {
    auto values = TestTensor<T>::random({count}, 8, 3);
    values.storage.resize(count);
    double sum = 0, largest = 0;
    for (T value : values.storage) {
      sum += std::fabs(double(value));
      largest = std::max(largest, std::fabs(double(value)));
    }
    const T *data = values.storage.data();
    EXPECT_NEAR(simd::loops<T>().absoluteSum(data, count), sum, 1e-13 * sum);
    EXPECT_EQ(simd::loops<T>().largestAbsolute(data, count), largest);
    for (int64_t at : {int64_t(0), count / 2, count - 1}) {
      if (at < 0 || at >= count)
        continue;
      T kept = values.storage[at];
      values.storage[at] = -this->infinity;
      EXPECT_EQ(simd::loops<T>().largestAbsolute(data, count), this->infinity);
      EXPECT_EQ(simd::loops<T>().absoluteSum(data, count), this->infinity);
      values.storage[at] = -this->nan;
      EXPECT_TRUE(std::isnan(simd::loops<T>().largestAbsolute(data, count)));
      values.storage[at] = kept;
    }
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
  simd::loops<T>().sum(destinations, 2, sources, 3, count);
  EXPECT_EQ(b.storage, expected);
  EXPECT_EQ(other, expected);
}

// For every place of the destination in a line, and what is left at the end.
TYPED_TEST(SimdLoops, SumAroundCachesIsTheSum) {
  using T = TypeParam;
  for (int64_t count : {0, 1, 15, 16, 17, 31, 64, 203})
    for (int terms : {1, 2, 3, 5})
      for (int64_t shift = 0; shift < 16; shift += 3) {
        std::vector<TestTensor<T>> values;
        std::vector<const T *> sources;
        for (int term = 0; term < terms; ++term)
          values.push_back(TestTensor<T>::random({count + 1}, 5 + term));
        for (TestTensor<T> &value : values)
          sources.push_back(value.storage.data());
        std::vector<T> expected(count), stored(count + 32, T(-1));
        T *sums[] = {expected.data()};
        simd::loops<T>().sum(sums, 1, sources.data(), terms, count);
        simd::loops<T>().sumAroundCaches(stored.data() + shift, sources.data(),
                                         terms, count);
        for (int64_t i = 0; i < count + 32; ++i)
          ASSERT_EQ(stored[i], i >= shift && i < shift + count
                                   ? expected[i - shift]
                                   : T(-1))
              << count << " elements, " << terms << " terms, at " << shift;
      }
}

/// What float16 and bfloat16 say about bits, by arithmetic.
struct Format {
  int mantissaBits, exponentBits;
  int bias() const { return (1 << (exponentBits - 1)) - 1; }

  double value(uint16_t bits) const {
    int mantissa = bits & ((1 << mantissaBits) - 1);
    int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponentBits) - 1)
      return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0)
      return sign * std::ldexp(mantissa, 1 - bias() - mantissaBits);
    return sign * std::ldexp(mantissa + (1 << mantissaBits),
                             exponent - bias() - mantissaBits);
  }
};
template <typename H> constexpr Format formatOf() {
  return std::is_same_v<H, BFloat16> ? Format{7, 8} : Format{10, 5};
}

} // namespace

// Every build of the loops, not only this machine's.
#define SHARDC_DECLARE_HALVES(level)                                           \
  namespace shardc::runtime::simd::level {                                     \
  extern const simd::HalfSimd<BFloat16> bfloat16Table;                         \
  extern const simd::HalfSimd<Float16> float16Table;                           \
  }
SHARDC_DECLARE_HALVES(v2)
SHARDC_DECLARE_HALVES(v3)
SHARDC_DECLARE_HALVES(v4)

namespace {

template <typename H> std::vector<const simd::HalfSimd<H> *> halfTables() {
  std::vector<const simd::HalfSimd<H> *> tables;
  auto add = [&](const simd::HalfSimd<BFloat16> &bfloat16,
                 const simd::HalfSimd<Float16> &float16) {
    if constexpr (std::is_same_v<H, BFloat16>)
      tables.push_back(&bfloat16);
    else
      tables.push_back(&float16);
  };
  __builtin_cpu_init();
  add(v2::bfloat16Table, v2::float16Table);
  if (__builtin_cpu_supports("x86-64-v3"))
    add(v3::bfloat16Table, v3::float16Table);
  if (__builtin_cpu_supports("x86-64-v4"))
    add(v4::bfloat16Table, v4::float16Table);
  return tables;
}

template <typename H> class HalfLoops : public testing::Test {
protected:
  std::vector<H> all() {
    std::vector<H> all;
    for (int bits = 0; bits < 1 << 16; ++bits)
      all.push_back({uint16_t(bits)});
    return all;
  }
};
using Halves = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(HalfLoops, Halves);

TYPED_TEST(HalfLoops, WidenEveryValue) {
  std::vector<TypeParam> all = this->all();
  for (const simd::HalfSimd<TypeParam> *table : halfTables<TypeParam>()) {
    std::vector<float> wide(all.size());
    table->widen(wide.data(), all.data(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      double expected = formatOf<TypeParam>().value(all[i].bits);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(wide[i])) << i;
      else
        ASSERT_EQ(wide[i], expected) << i;
      ASSERT_EQ(std::signbit(wide[i]), all[i].bits >> 15 != 0) << i;
    }
  }
}

TYPED_TEST(HalfLoops, RoundToNearestEven) {
  Format format = formatOf<TypeParam>();
  uint16_t infinity = ((1 << format.exponentBits) - 1) << format.mantissaBits;
  // Each value, what lies half way to the next one, and both sides of that.
  std::vector<float> values;
  std::vector<uint16_t> expected;
  auto add = [&](double value, uint16_t bits) {
    for (int sign : {0, 1}) {
      values.push_back(float(sign ? -value : value));
      expected.push_back(bits | sign << 15);
    }
  };
  for (int bits = 0; bits < infinity; ++bits) {
    double low = format.value(bits);
    // Behind the largest comes infinity, as if the exponents went on.
    double high = bits + 1 == infinity ? low + (low - format.value(bits - 1))
                                       : format.value(bits + 1);
    auto half = float(low + (high - low) / 2);
    add(low, bits);
    add(half, bits % 2 ? bits + 1 : bits);
    if (half > low) { // bfloat16's smallest numbers have no room for that
      add(std::nextafter(half, 0.f), bits);
      add(std::nextafter(half, INFINITY), bits + 1);
    }
  }
  add(INFINITY, infinity);
  for (const simd::HalfSimd<TypeParam> *table : halfTables<TypeParam>()) {
    std::vector<TypeParam> rounded(values.size());
    table->round(rounded.data(), values.data(), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(rounded[i].bits, expected[i]) << values[i];
    // What is not a number stays so, with its sign, however small its payload.
    for (uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff801000u}) {
      auto nan = std::bit_cast<float>(bits);
      TypeParam result;
      table->round(&result, &nan, 1);
      EXPECT_TRUE(std::isnan(format.value(result.bits)));
      EXPECT_EQ(result.bits >> 15, bits >> 31);
    }
  }
}

TYPED_TEST(HalfLoops, SumsAreRoundedOnce) {
  // In 16 bits 1 + tiny + tiny would stay 1.
  Format format = formatOf<TypeParam>();
  float tiny = std::ldexp(1.f, -format.mantissaBits - 1);
  for (const simd::HalfSimd<TypeParam> *table : halfTables<TypeParam>())
    for (int64_t count : {1, 15, 16, 33}) {
      std::vector<float> ones(count, 1.f), tinies(count, tiny);
      std::vector<TypeParam> a(count), b(count), other(count);
      table->round(a.data(), ones.data(), count);
      table->round(b.data(), tinies.data(), count);
      const TypeParam *sources[] = {a.data(), b.data(), b.data()};
      TypeParam *destinations[] = {a.data(), other.data()};
      table->sum(destinations, 2, sources, 3, count);
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(format.value(a[i].bits), 1 + 2 * tiny);
        EXPECT_EQ(other[i].bits, a[i].bits);
      }
    }
}

} // namespace

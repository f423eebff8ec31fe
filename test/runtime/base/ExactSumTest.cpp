// Exact sums against float64 where that is exact, and against what rounding
// would lose.
#include "runtime/base/ExactSum.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace shardc::runtime;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 largest = std::numeric_limits<double>::max(),
                 smallest = std::numeric_limits<double>::denorm_min();

double sumOf(const std::vector<double> &values) {
  ExactSum sum;
  for (double value : values)
    sum.add(value);
  return sum.round();
}

TEST(ExactSum, KeepsEveryNumber) {
  for (double value : {0.0, 1.0, -1.0, 0x1.fffffffffffffp0, smallest, -smallest,
                       0x1p-1022, largest, -largest, 1e-300, 3.0e17})
    EXPECT_EQ(sumOf({value}), value) << value;
}

TEST(ExactSum, RoundsOnceToEven) {
  EXPECT_EQ(sumOf({0x1p53, 1}), 0x1p53);
  EXPECT_EQ(sumOf({0x1p53, 1, 1}), 0x1p53 + 2);
  EXPECT_EQ(sumOf({0x1p53, 1, smallest}), 0x1p53 + 2);
  EXPECT_EQ(sumOf({0x1p53 + 2, 1}), 0x1p53 + 4);
  EXPECT_EQ(sumOf({0x1p53 + 2, 1, -smallest}), 0x1p53 + 2);
  EXPECT_EQ(sumOf({largest, 1e300, -largest}), 1e300);
  EXPECT_EQ(sumOf({largest, largest, -largest}), largest);
  EXPECT_EQ(sumOf({largest, largest}), infinity);
  EXPECT_EQ(sumOf({-largest, -largest}), -infinity);
  EXPECT_EQ(sumOf({1e100, smallest, -1e100}), smallest);
}

TEST(ExactSum, SaysWhatIsNotFinite) {
  EXPECT_EQ(sumOf({1, infinity, infinity}), infinity);
  EXPECT_EQ(sumOf({1, -infinity, 2}), -infinity);
  EXPECT_TRUE(std::isnan(sumOf({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(sumOf({1, std::nan("")})));
}

TEST(ExactSum, HasOneFormWhateverTheOrder) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i)
    values.push_back(
        std::ldexp(double(int64_t(random())), int(random() % 1900) - 1000));
  std::array<int64_t, ExactSum::words> expected, stored;
  for (int round = 0; round < 5; ++round) {
    // In one, and in parts whose words are added.
    size_t parts = 1 + size_t(round) * 3;
    std::array<int64_t, ExactSum::words> words{};
    std::vector<ExactSum> sums(parts);
    for (size_t i = 0; i < values.size(); ++i)
      sums[i % parts].add(values[i]);
    ExactSum total;
    for (const ExactSum &sum : sums) {
      sum.store(stored);
      for (size_t i = 0; i < words.size(); ++i)
        words[i] += stored[i];
      total.add(sum);
    }
    ExactSum(words).store(words);
    total.store(stored);
    EXPECT_EQ(words, stored);
    if (round == 0)
      expected = words;
    EXPECT_EQ(words, expected);
    std::shuffle(values.begin(), values.end(), random);
  }
}

TEST(ExactSum, AgreesWithIntegers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    ExactSum sum;
    int64_t expected = 0;
    for (int i = 0; i < 50; ++i) {
      int64_t value = int64_t(random() >> 20) - (int64_t(1) << 43);
      expected += value;
      sum.add(double(value) * 0x1p-30);
    }
    EXPECT_EQ(sum.round(), double(expected) * 0x1p-30);
  }
}

TEST(ExactSum, IsNoNumberOnceSomeRankHasNone) {
  std::array<int64_t, ExactSum::words> total{}, stored;
  for (double value : {1.0, infinity, -infinity}) {
    ExactSum sum;
    sum.add(value);
    sum.store(stored);
    for (size_t i = 0; i < total.size(); ++i)
      total[i] += stored[i];
    if (value == infinity)
      EXPECT_EQ(ExactSum(total).round(), infinity);
  }
  EXPECT_TRUE(std::isnan(ExactSum(total).round()));
}

} // namespace

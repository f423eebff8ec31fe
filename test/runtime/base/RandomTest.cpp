// Philox against the known answers that Random123 publishes, and the
// distributions drawn from it.
#include "runtime/base/Random.h"
#include "runtime/simd/Draws.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numbers>
#include <vector>

using namespace shardc::runtime;
using namespace shardc::runtime::simd;
using Block = std::array<uint32_t, 4>;

// Every build of the loops, not only this machine's.
namespace shardc::runtime::simd {
namespace v2 {
extern const DrawLoops drawTable;
}
namespace v3 {
extern const DrawLoops drawTable;
}
namespace v4 {
extern const DrawLoops drawTable;
}
} // namespace shardc::runtime::simd

static std::vector<const simd::DrawLoops *> drawTables() {
  __builtin_cpu_init();
  std::vector<const simd::DrawLoops *> tables{&v2::drawTable};
  if (__builtin_cpu_supports("x86-64-v3"))
    tables.push_back(&v3::drawTable);
  if (__builtin_cpu_supports("x86-64-v4"))
    tables.push_back(&v4::drawTable);
  return tables;
}

TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsDependOnSeedNameAndIndex) {
  RandomStream stream(1, "a.weight");
  EXPECT_EQ(stream.bits(7), RandomStream(1, "a.weight").bits(7));
  EXPECT_NE(stream.bits(7), stream.bits(8));
  EXPECT_NE(stream.bits(7), stream.bits(7, 1));
  EXPECT_NE(stream.bits(7), RandomStream(2, "a.weight").bits(7));
  EXPECT_NE(stream.bits(7), RandomStream(1, "b.weight").bits(7));
}

// The formulas of Draws.h in double, from blocks that the known answers above
// vouch for.
static double exactUniform(uint64_t draw, std::array<uint32_t, 2> key) {
  uint64_t block = draw / 4;
  return (philox4x32({uint32_t(block), uint32_t(block >> 32), 0, 0},
                     key)[draw % 4] >>
          8) *
         0x1p-24;
}
struct Normal {
  double value, radius;
};
static Normal exactNormal(uint64_t draw, std::array<uint32_t, 2> key) {
  uint64_t block = draw / 4;
  Block words = philox4x32({uint32_t(block), uint32_t(block >> 32), 0, 0}, key);
  uint64_t pair = draw % 4 / 2 * 2;
  double radius = std::sqrt(-2 * std::log((words[pair] + 1.0) * 0x1p-32));
  double angle = 2 * std::numbers::pi * words[pair + 1] * 0x1p-32;
  return {radius * (draw % 2 ? std::sin(angle) : std::cos(angle)), radius};
}

TEST(Random, DrawsAreWhatTheFormulasSay) {
  uint32_t key[2] = {0xa4093822, 0x299f31d0};
  // 2^34 draws are 2^32 blocks: there the second counter word begins.
  for (uint64_t begin : {uint64_t{0}, uint64_t{5}, (uint64_t{1} << 34) - 99}) {
    std::vector<float> uniform(200003), normal(uniform.size());
    simd::drawLoops().uniform(key, 0, 1, begin, uniform.data(), uniform.size());
    simd::drawLoops().normal(key, 0, 1, begin, normal.data(), normal.size());
    for (size_t i = 0; i < uniform.size(); ++i) {
      ASSERT_EQ(uniform[i], exactUniform(begin + i, {key[0], key[1]}));
      Normal expected = exactNormal(begin + i, {key[0], key[1]});
      // Where the radius is small, 1 - u has few bits in float.
      ASSERT_NEAR(normal[i], expected.value,
                  expected.radius * 0x1p-22 + 0x1p-24 / expected.radius)
          << begin + i;
    }
  }
}

TEST(Random, DrawsAreTheSameBitsOnEveryProcessorAndInEveryRange) {
  uint32_t key[2] = {17, 4};
  std::vector<float> whole(4 * 100003);
  using Loop = decltype(simd::DrawLoops::normal);
  for (Loop simd::DrawLoops::*loop :
       {&simd::DrawLoops::uniform, &simd::DrawLoops::normal}) {
    (v2::drawTable.*loop)(key, -1, 0.7f, 0, whole.data(), whole.size());
    for (const simd::DrawLoops *table : drawTables()) {
      std::vector<float> again(whole.size(), NAN);
      (table->*loop)(key, -1, 0.7f, 0, again.data(), again.size());
      EXPECT_EQ(
          std::memcmp(again.data(), whole.data(), whole.size() * sizeof(float)),
          0);
      for (int64_t begin = 0; begin < 9; ++begin)
        for (int64_t count : {0, 1, 2, 3, 4, 5, 61, 63, 64, 65, 127, 200}) {
          std::vector<float> part(count + 1, 7);
          (table->*loop)(key, -1, 0.7f, begin, part.data(), count);
          EXPECT_TRUE(
              std::equal(part.begin(), part.end() - 1, whole.begin() + begin));
          EXPECT_EQ(part.back(), 7);
        }
    }
  }
}

TEST(Random, DistributionsHaveTheirMoments) {
  RandomStream stream(3, "moments");
  int count = 1000000;
  std::vector<float> uniforms(count), normals(count);
  stream.uniform(0, 1, 0, uniforms);
  stream.normal(0, 1, 0, normals);
  double sum = 0, squares = 0, normalSum = 0, normalSquares = 0, fourth = 0,
         neighbours = 0;
  for (int i = 0; i < count; ++i) {
    double uniform = uniforms[i], normal = normals[i];
    ASSERT_GE(uniform, 0);
    ASSERT_LT(uniform, 1);
    ASSERT_TRUE(std::isfinite(normal));
    sum += uniform;
    squares += uniform * uniform;
    normalSum += normal;
    normalSquares += normal * normal;
    fourth += normal * normal * normal * normal;
    neighbours += i ? normal * normals[i - 1] : 0;
  }
  // Five standard errors each.
  EXPECT_NEAR(sum / count, 0.5, 0.0015);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.0015);
  EXPECT_NEAR(normalSum / count, 0, 0.005);
  EXPECT_NEAR(normalSquares / count, 1, 0.0071);
  EXPECT_NEAR(fourth / count, 3, 0.049);
  EXPECT_NEAR(neighbours / count, 0, 0.005);
}

TEST(Random, NormalDrawsFollowTheNormalDistribution) {
  std::vector<float> draws(1000000);
  RandomStream(8, "distribution").normal(0, 1, 0, draws);
  std::ranges::sort(draws);
  // Kolmogorov and Smirnov: the largest distance between the two distribution
  // functions is below 1.95 / sqrt(n) in 999 of 1000 cases.
  double distance = 0, n = static_cast<double>(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    double expected = std::erfc(-draws[i] / std::numbers::sqrt2) / 2;
    distance = std::max({distance, std::abs(expected - double(i) / n),
                         std::abs(expected - double(i + 1) / n)});
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(n));
  // Beyond 4.5 standard deviations lie 6.8 of a million.
  EXPECT_NEAR(
      std::ranges::count_if(draws, [](float x) { return std::abs(x) > 4.5f; }),
      6.8, 11);
}

TEST(Random, BelowStaysBelow) {
  RandomStream stream(3, "below");
  int seen[7] = {};
  for (int i = 0; i < 7000; ++i)
    ++seen[stream.below(7, i)];
  for (int times : seen)
    EXPECT_NEAR(times, 1000, 150);
}

// Philox against the known answers that Random123 publishes, and the
// distributions drawn from it.
#include "runtime/Random.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace shardc::runtime;
using Block = std::array<uint32_t, 4>;

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

TEST(Random, DistributionsHaveTheirMoments) {
  RandomStream stream(3, "moments");
  int count = 200000;
  double sum = 0, squares = 0, normalSum = 0, normalSquares = 0, fourth = 0;
  for (int i = 0; i < count; ++i) {
    double uniform = stream.uniform(i), normal = stream.normal(i);
    ASSERT_GE(uniform, 0);
    ASSERT_LT(uniform, 1);
    ASSERT_TRUE(std::isfinite(normal));
    sum += uniform;
    squares += uniform * uniform;
    normalSum += normal;
    normalSquares += normal * normal;
    fourth += normal * normal * normal * normal;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.003);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.003);
  EXPECT_NEAR(normalSum / count, 0, 0.01);
  EXPECT_NEAR(normalSquares / count, 1, 0.015);
  EXPECT_NEAR(fourth / count, 3, 0.1);
}

TEST(Random, BelowStaysBelow) {
  RandomStream stream(3, "below");
  int seen[7] = {};
  for (int i = 0; i < 7000; ++i)
    ++seen[stream.below(7, i)];
  for (int times : seen)
    EXPECT_NEAR(times, 1000, 150);
}

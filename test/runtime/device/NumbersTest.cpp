// What the conformance suite measures with: rounding, and the bounds of a
// result.
#include "test/runtime/device/Numbers.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace shardc::runtime {
namespace {

/// By arithmetic and by the runtime's bits.
TEST(Numbers, RoundAsTheRuntimeConverts) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> mantissa(-2, 2), exponent(-30, 20);
  for (plan::DType dtype : floatTypes)
    for (int i = 0; i < 20000; ++i) {
      double value = std::ldexp(mantissa(generator), int(exponent(generator)));
      if (i % 3 == 0) // ties
        value = std::ldexp(std::nearbyint(std::ldexp(value, 12)), -12);
      std::byte own[8] = {}, converted[8] = {};
      encode(value, dtype, own);
      convertElements(&value, plan::FLOAT64, converted, dtype, 1);
      ASSERT_EQ(std::memcmp(own, converted, 8), 0)
          << value << " as " << plan::DType_Name(dtype);
      ASSERT_EQ(decode(own, dtype), rounded(value, dtype)) << value;
      if (std::isinf(rounded(value, dtype)))
        continue; // float16 ends at 65504
      ASSERT_LE(std::fabs(rounded(value, dtype) - value),
                std::max(roundoff(dtype) * std::fabs(value), 0x1p-25))
          << value;
    }
  for (plan::DType dtype : floatTypes) {
    EXPECT_TRUE(std::isnan(rounded(NAN, dtype)));
    EXPECT_EQ(rounded(-INFINITY, dtype), -INFINITY);
  }
  EXPECT_EQ(rounded(65519, plan::FLOAT16), 65504);
  EXPECT_EQ(rounded(65520, plan::FLOAT16), INFINITY);
  EXPECT_EQ(rounded(0x1p-25, plan::FLOAT16), 0);
  EXPECT_EQ(rounded(0x1.8p-25, plan::FLOAT16), 0x1p-24);
}

bool agrees(double got, double expected, double slack, plan::DType dtype) {
  Expected one(1);
  one.values[0] = expected;
  one.slack[0] = slack;
  return mismatch({got}, one, dtype).empty();
}

TEST(Numbers, AreComparedWithinOneRounding) {
  // A tie of bfloat16 goes either way, its next neighbours are wrong.
  EXPECT_TRUE(agrees(1, 0x1.01p0, 0, plan::BFLOAT16));
  EXPECT_TRUE(agrees(0x1.02p0, 0x1.01p0, 0, plan::BFLOAT16));
  EXPECT_FALSE(agrees(0x1.04p0, 0x1.01p0, 0, plan::BFLOAT16));
  EXPECT_FALSE(agrees(0x1.FEp-1, 0x1.01p0, 0, plan::BFLOAT16));
  EXPECT_TRUE(agrees(0x1.04p0, 0x1.01p0, 0x1p-6, plan::BFLOAT16));
  EXPECT_FALSE(agrees(1 + 0x1p-22, 1, 0, plan::FLOAT32));
  EXPECT_FALSE(agrees(1 + 0x1p-51, 1, 0, plan::FLOAT64));
  // Exactly.
  EXPECT_TRUE(agrees(1, 1, -1, plan::BFLOAT16));
  EXPECT_FALSE(agrees(1 + 0x1p-52, 1, -1, plan::FLOAT64));
}

TEST(Numbers, OverflowAndWhatIsNoNumberAreNotTakenForAnother) {
  EXPECT_TRUE(agrees(NAN, NAN, 0, plan::FLOAT32));
  EXPECT_FALSE(agrees(NAN, 1, 1, plan::FLOAT32));
  EXPECT_FALSE(agrees(1, NAN, 1, plan::FLOAT32));
  EXPECT_TRUE(agrees(INFINITY, INFINITY, 0, plan::FLOAT32));
  EXPECT_FALSE(agrees(-INFINITY, INFINITY, 0, plan::FLOAT32));
  EXPECT_TRUE(agrees(INFINITY, 65530, 0, plan::FLOAT16));
  EXPECT_FALSE(agrees(INFINITY, 65000, 0, plan::FLOAT16));
  EXPECT_FALSE(agrees(-INFINITY, 65530, 0, plan::FLOAT16));
  EXPECT_FALSE(mismatch({1, 2}, Expected(1), plan::FLOAT32).empty());
}

} // namespace
} // namespace shardc::runtime

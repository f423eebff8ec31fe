// Conversions between element types, with their roundings and corner cases.
#include "runtime/base/DType.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace shardc::runtime;
using namespace shardc;

template <typename From, typename To>
static To convertOne(From value, plan::DType from, plan::DType to) {
  To result;
  convertElements(&value, from, &result, to, 1);
  return result;
}

TEST(DType, HalvesSurviveTheWayToFloatAndBack) {
  for (plan::DType half : {plan::FLOAT16, plan::BFLOAT16})
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      float wide = convertOne<uint16_t, float>(bits, half, plan::FLOAT32);
      uint16_t back = convertOne<float, uint16_t>(wide, plan::FLOAT32, half);
      if (std::isnan(wide))
        EXPECT_TRUE(
            std::isnan(convertOne<uint16_t, float>(back, half, plan::FLOAT32)));
      else
        ASSERT_EQ(back, bits) << dtypeName(half);
    }
}

TEST(DType, HalvesRoundToNearestEven) {
  auto toHalf = [](float value) {
    return convertOne<float, uint16_t>(value, plan::FLOAT32, plan::FLOAT16);
  };
  EXPECT_EQ(toHalf(1 + 0x1p-11f), 0x3c00); // a tie: to the even mantissa
  EXPECT_EQ(toHalf(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(toHalf(65519.f), 0x7bff);
  EXPECT_EQ(toHalf(65520.f), 0x7c00);
  EXPECT_EQ(toHalf(-0x1p-25f), 0x8000);
  EXPECT_EQ(toHalf(0x1.8p-24f), 0x0002);
  auto toBFloat = [](float value) {
    return convertOne<float, uint16_t>(value, plan::FLOAT32, plan::BFLOAT16);
  };
  EXPECT_EQ(toBFloat(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(toBFloat(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(toBFloat(std::numeric_limits<float>::infinity()), 0x7f80);
}

TEST(DType, DoublesAreRoundedOnce) {
  // By way of float these would first become ties.
  struct Case {
    double value;
    plan::DType half;
    uint16_t bits;
  };
  for (const Case &of : {Case{1 + 0x1p-8 + 0x1p-30, plan::BFLOAT16, 0x3f81},
                         {1 + 3 * 0x1p-8 - 0x1p-30, plan::BFLOAT16, 0x3f81},
                         {-1 - 0x1p-8 - 0x1p-30, plan::BFLOAT16, 0xbf81},
                         {1 + 0x1p-11 + 0x1p-40, plan::FLOAT16, 0x3c01},
                         {1 + 3 * 0x1p-11 - 0x1p-40, plan::FLOAT16, 0x3c01},
                         {0x1p-25 + 0x1p-60, plan::FLOAT16, 0x0001},
                         {-1e-60, plan::FLOAT16, 0x8000},
                         {1e300, plan::BFLOAT16, 0x7f80}})
    EXPECT_EQ((convertOne<double, uint16_t>(of.value, plan::FLOAT64, of.half)),
              of.bits)
        << of.value << " " << dtypeName(of.half);
}

TEST(DType, AlignmentChangesNothing) {
  constexpr size_t count = 4000;
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(std::sin(float(i)), int(i % 60) - 40));
  values[7] = std::numeric_limits<float>::quiet_NaN();
  std::vector<char> shifted(4 * count + 1);
  std::memcpy(shifted.data() + 1, values.data(), 4 * count);
  for (plan::DType half : {plan::FLOAT16, plan::BFLOAT16}) {
    std::vector<uint16_t> a(count), b(count);
    convertElements(values.data(), plan::FLOAT32, a.data(), half, count);
    convertElements(shifted.data() + 1, plan::FLOAT32, b.data(), half, count);
    EXPECT_EQ(a, b) << dtypeName(half);
  }
}

TEST(DType, IntegersAndBoolsConvert) {
  EXPECT_EQ((convertOne<int32_t, int64_t>(-7, plan::INT32, plan::INT64)), -7);
  EXPECT_EQ((convertOne<uint8_t, uint8_t>(9, plan::UINT8, plan::BOOL)), 1);
  EXPECT_TRUE(isConvertible(plan::FLOAT64, plan::FLOAT32));
  EXPECT_FALSE(isConvertible(plan::FLOAT32, plan::INT64));
  EXPECT_FALSE(isConvertible(plan::INVALID, plan::INT64));
}

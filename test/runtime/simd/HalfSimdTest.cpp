// Conversion of 16-bit floats: every bit pattern, every place where rounding
// changes, and the loops' ends.
#include "runtime/simd/Simd.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <bit>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::simd;

namespace {

template <typename T> class HalfConversionLoops : public testing::Test {};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(HalfConversionLoops, Types);

/// Value of bits by the formats' definition (IEEE 754; bfloat16 is float32's
/// upper half).
template <typename S> double valueOf(uint16_t bits) {
  constexpr bool isBFloat = std::is_same_v<S, BFloat16>;
  constexpr int mantissaBits = isBFloat ? 7 : 10, bias = isBFloat ? 127 : 15;
  int exponent = (bits & 0x7fff) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double size = exponent == 2 * bias + 1 ? (mantissa ? NAN : INFINITY)
                : exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                                : std::ldexp(mantissa + (1 << mantissaBits),
                                             exponent - bias - mantissaBits);
  return bits & 0x8000 ? -size : size;
}

TYPED_TEST(HalfConversionLoops, WidensEveryElement) {
  using S = TypeParam;
  std::vector<S> all(65536);
  std::vector<float> wide(65536);
  for (int i = 0; i < 65536; ++i)
    all[i].bits = i;
  simd::halfLoops<S>().widen(wide.data(), all.data(), 65536);
  for (int i = 0; i < 65536; ++i) {
    double value = valueOf<S>(i);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]),
                std::bit_cast<uint32_t>(float(value)))
          << i;
  }
}

// Between two neighbours rounding changes at their middle, where the even one
// is taken: all are tried there and one float32 beside it.
TYPED_TEST(HalfConversionLoops, RoundsToNearestEven) {
  using S = TypeParam;
  std::vector<float> values;
  std::vector<uint16_t> expected;
  auto expect = [&](float value, uint16_t bits) {
    values.push_back(value);
    expected.push_back(bits);
    values.push_back(-value);
    expected.push_back(bits | 0x8000);
  };
  constexpr uint16_t infinite = std::is_same_v<S, BFloat16> ? 0x7f80 : 0x7c00;
  for (uint16_t bits = 0; bits < infinite; ++bits) {
    double low = valueOf<S>(bits), high = valueOf<S>(bits + 1);
    if (bits + 1 == infinite) // as if the exponent went on
      high = low + (low - valueOf<S>(bits - 1));
    auto middle = float((low + high) / 2);
    uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    expect(float(low), bits);
    expect(middle, even);
    expect(std::nextafter(middle, 0.0f), bits);
    expect(std::nextafter(middle, INFINITY), bits + 1);
  }
  expect(INFINITY, infinite);
  expect(3.4e38f, std::is_same_v<S, BFloat16> ? 0x7f80 : infinite);
  std::vector<S> results(values.size());
  simd::halfLoops<S>().round(results.data(), values.data(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(results[i].bits, expected[i]) << values[i];
}

TYPED_TEST(HalfConversionLoops, ANotANumberStaysOne) {
  using S = TypeParam;
  for (uint32_t bits : {0x7fc00000u, 0xffffffffu, 0x7fffffffu, 0x7f800001u,
                        0xff80ffffu, 0x7fff8000u}) {
    auto value = std::bit_cast<float>(bits);
    S result;
    simd::halfLoops<S>().round(&result, &value, 1);
    EXPECT_TRUE(std::isnan(valueOf<S>(result.bits))) << bits;
    EXPECT_EQ(result.bits >> 15, bits >> 31);
  }
}

TYPED_TEST(HalfConversionLoops, EndWithTheLastElement) {
  using S = TypeParam;
  for (int64_t count : {0, 1, 15, 16, 17, 33}) {
    std::vector<float> values(count + 1, 1), back(count + 1, 77);
    std::vector<S> results(count + 1, S{0x1234});
    simd::halfLoops<S>().round(results.data(), values.data(), count);
    simd::halfLoops<S>().widen(back.data(), results.data(), count);
    EXPECT_EQ(results.back().bits, 0x1234);
    EXPECT_EQ(back.back(), 77);
    for (int64_t i = 0; i < count; ++i)
      EXPECT_EQ(back[i], 1);
  }
}

} // namespace

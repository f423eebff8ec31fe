// The 16-bit types as float32, and back by one rounding to nearest even.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_ROUNDING_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_ROUNDING_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace shardc::test::cuda {

struct Bfloat16 {
  uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    uint32_t wide = std::bit_cast<uint32_t>(value);
    bits =
        std::isnan(value) ? 0x7fff : (wide + 0x7fff + ((wide >> 16) & 1)) >> 16;
  }
  explicit operator float() const {
    return std::bit_cast<float>(uint32_t(bits) << 16);
  }
};

struct Float16 {
  _Float16 value = 0;

  Float16() = default;
  explicit Float16(float wide) : value(wide) {}
  explicit operator float() const { return value; }
};

} // namespace shardc::test::cuda

#endif

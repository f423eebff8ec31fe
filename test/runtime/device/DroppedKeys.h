// What tests of attention expect of dropped probabilities, from the definition
// in docs/randomness.md.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_DROPPEDKEYS_H
#define SHARDC_TEST_RUNTIME_DEVICE_DROPPEDKEYS_H

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace shardc::test {

/// Rows of scores [B, H, Sq]: row i belongs to sample i / rowStride % samples;
/// samples = 0: all samples are dropped alike.
struct DroppedKeys {
  double rate = 0; // 0: nothing is dropped
  int64_t samples = 0, rowStride = 0;

  static constexpr uint32_t firstSample = 5, key0 = 0x12345678,
                            key1 = 0xfedcba98;

  double scale() const { return rate < 1 ? 1 / (1 - rate) : 0; }
  int32_t threshold() const {
    return int32_t(std::nearbyint(std::ldexp(rate, 32) - std::ldexp(1, 31)));
  }
  /// As a run writes them.
  std::vector<int32_t> words() const {
    auto bits = std::bit_cast<uint64_t>(scale());
    return {int32_t(firstSample),
            int32_t(key0),
            int32_t(key1),
            threshold(),
            int32_t(bits),
            int32_t(bits >> 32),
            0,
            0};
  }
  /// What the probability of a key is multiplied with.
  double factor(int64_t row, int64_t key) const {
    if (rate == 0)
      return 1;
    uint32_t number = uint32_t(row), sample = 0;
    if (samples > 0) {
      number =
          uint32_t(row / (rowStride * samples) * rowStride + row % rowStride);
      sample = firstSample + uint32_t(row / rowStride % samples);
    }
    const auto [first, second] = threefry(
        {key0, key1 + number}, {uint32_t(key / 32 * 8 + key % 8), sample});
    const int64_t part = key % 32 / 8;
    const uint32_t word = part < 2 ? first : second;
    const auto drawn = int16_t(part % 2 ? word >> 16 : word & 0xffff);
    return drawn >= threshold() >> 16 ? scale() : 0;
  }
  /// Threefry-2x32-20, from the paper.
  static std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> key,
                                          std::array<uint32_t, 2> counter) {
    static constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t keys[] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
    uint32_t x = counter[0] + key[0], y = counter[1] + key[1];
    for (uint32_t round = 0; round < 20; ++round) {
      x += y;
      y = std::rotl(y, rotations[round % 8]) ^ x;
      if (round % 4 != 3)
        continue;
      const uint32_t step = round / 4 + 1;
      x += keys[step % 3];
      y += keys[(step + 1) % 3] + step;
    }
    return {x, y};
  }
};

} // namespace shardc::test

#endif

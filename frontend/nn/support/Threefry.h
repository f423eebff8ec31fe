// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011); the function that JAX draws with. It
// has additions, rotations and exclusive ors of 32 bits only, which every
// target has as vectors.
//
// The words are numbers here, and values of a kernel under construction there:
// `Word` has +, ^, rotated(bits) and like(number), which makes a constant.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_THREEFRY_H
#define SHARDC_FRONTEND_NN_SUPPORT_THREEFRY_H

#include <bit>
#include <cstdint>
#include <utility>

namespace shardc::nn {

/// 64 random bits for a key and a counter of 64 bits each.
template <typename Word>
std::pair<Word, Word> threefry2x32(Word key0, Word key1, Word counter0,
                                   Word counter1) {
  constexpr int rounds = 20;
  constexpr unsigned rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const Word keys[] = {key0, key1, key0 ^ key1 ^ key0.like(0x1BD11BDA)};
  Word x0 = counter0 + key0, x1 = counter1 + key1;
  for (int round = 0; round < rounds; ++round) {
    x0 = x0 + x1;
    x1 = x1.rotated(rotations[round % 8]) ^ x0;
    if (round % 4 == 3) {
      const int injection = round / 4 + 1;
      x0 = x0 + keys[injection % 3];
      x1 = x1 + (keys[(injection + 1) % 3] + key0.like(injection));
    }
  }
  return {x0, x1};
}

/// A word that is a number.
struct Bits32 {
  uint32_t value;

  Bits32 operator+(Bits32 other) const { return {value + other.value}; }
  Bits32 operator^(Bits32 other) const { return {value ^ other.value}; }
  Bits32 rotated(unsigned bits) const {
    return {std::rotl(value, static_cast<int>(bits))};
  }
  Bits32 like(uint32_t number) const { return {number}; }
};

} // namespace shardc::nn

#endif

// Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011); the function that JAX draws with. It
// has additions, rotations and exclusive ors of 32 bits only, which every
// target has as vectors. The compiler, the runtime and the kernels of GPUs read
// this header, so it includes nothing.
//
// The words are numbers here, vectors of them or values of a kernel under
// construction there: `Word` has +, ^, rotated(bits) and like(number), which
// makes a constant.
#ifndef SHARDC_RUNTIME_BASE_THREEFRY_H
#define SHARDC_RUNTIME_BASE_THREEFRY_H

namespace shardc::runtime {

template <typename Word> struct TwoWords {
  Word first, second;
};

/// 64 random bits for a key and a counter of 64 bits each.
template <typename Word>
constexpr TwoWords<Word> threefry2x32(Word key0, Word key1, Word counter0,
                                      Word counter1) {
  constexpr int rounds = 20;
  constexpr unsigned rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const Word keys[] = {key0, key1, key0 ^ key1 ^ key0.like(0x1BD11BDA)};
  Word x0 = counter0 + key0, x1 = counter1 + key1;
  // So that keys stay in registers.
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    x0 = x0 + x1;
    x1 = x1.rotated(rotations[round % 8]) ^ x0;
    if (round % 4 == 3) {
      const int injection = round / 4 + 1;
      x0 = x0 + keys[injection % 3];
      x1 = x1 + (keys[(injection + 1) % 3] +
                 key0.like(static_cast<unsigned>(injection)));
    }
  }
  return {x0, x1};
}

/// A word that is a number.
struct Bits32 {
  unsigned value;

  constexpr Bits32 operator+(Bits32 other) const {
    return {value + other.value};
  }
  constexpr Bits32 operator^(Bits32 other) const {
    return {value ^ other.value};
  }
  constexpr Bits32 rotated(unsigned bits) const {
    return {value << bits | value >> (32 - bits)};
  }
  constexpr Bits32 like(unsigned number) const { return {number}; }
};

/// The words that a run writes for a site of the model that draws (nn.dropout):
/// the number of the first sample, a key, what numbers that are kept are not
/// below, and a float64 that what is kept is multiplied with.
enum DrawnWord { FirstSample, Key0, Key1, Threshold, ScaleLow, ScaleHigh };

/// Keys of attention are drawn for four at a time, which share a counter: of
/// `drawnKeys` that begin at a multiple of it, every `drawnStride`th.
/// docs/randomness.md says how.
inline constexpr unsigned drawnKeys = 32, drawnStride = 8;
constexpr unsigned drawOfKey(unsigned key) {
  return key / drawnKeys * drawnStride + key % drawnStride;
}
constexpr unsigned partOfKey(unsigned key) {
  return key % drawnKeys / drawnStride;
}
/// A part of what is drawn: 16 bits, with a sign.
constexpr int drawnPart(TwoWords<Bits32> words, unsigned part) {
  const unsigned word = part < 2 ? words.first.value : words.second.value;
  return static_cast<int>(word << (part % 2 ? 0 : 16)) >> 16;
}

} // namespace shardc::runtime

#endif

// Philox 4x32-10 and the distributions drawn from it.
#include "runtime/base/Random.h"

#include "runtime/simd/Draws.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardc::runtime {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, std::string_view name) {
  uint64_t hash = XXH3_64bits_withSeed(name.data(), name.size(), seed);
  key = {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)};
}

std::array<uint32_t, 4> RandomStream::bits(uint64_t index,
                                           uint64_t lane) const {
  return philox4x32(
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
       static_cast<uint32_t>(lane), static_cast<uint32_t>(lane >> 32)},
      key);
}

static uint64_t joined(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

void RandomStream::uniform(float low, float high, uint64_t begin,
                           std::span<float> values) const {
  simd::drawLoops().uniform(key.data(), low, high, begin, values.data(),
                            std::ssize(values));
}

void RandomStream::normal(float mean, float deviation, uint64_t begin,
                          std::span<float> values) const {
  simd::drawLoops().normal(key.data(), mean, deviation, begin, values.data(),
                           std::ssize(values));
}

uint64_t RandomStream::below(uint64_t bound, uint64_t index,
                             uint64_t lane) const {
  std::array<uint32_t, 4> block = bits(index, lane);
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(joined(block[0], block[1])) * bound) >>
      64);
}

} // namespace shardc::runtime

// Philox 4x32-10 and the distributions drawn from it.
#include "runtime/Random.h"

#include <cmath>
#include <numbers>

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

double RandomStream::uniform(uint64_t index) const {
  std::array<uint32_t, 4> block = bits(index);
  return static_cast<double>(joined(block[0], block[1]) >> 11) * 0x1p-53;
}

double RandomStream::normal(uint64_t index) const {
  std::array<uint32_t, 4> block = bits(index);
  // (0, 1]: the logarithm must be finite.
  double radius =
      static_cast<double>((joined(block[0], block[1]) >> 11) + 1) * 0x1p-53;
  double angle =
      static_cast<double>(joined(block[2], block[3]) >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(radius)) *
         std::cos(2 * std::numbers::pi * angle);
}

uint64_t RandomStream::below(uint64_t bound, uint64_t index,
                             uint64_t lane) const {
  std::array<uint32_t, 4> block = bits(index, lane);
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(joined(block[0], block[1])) * bound) >>
      64);
}

} // namespace shardc::runtime

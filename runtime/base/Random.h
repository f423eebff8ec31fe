// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw:
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A draw is a function
// of (seed, name, index), so that it is the same on every mesh and for every
// thread.
#ifndef SHARDC_RUNTIME_BASE_RANDOM_H
#define SHARDC_RUNTIME_BASE_RANDOM_H

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace shardc::runtime {

/// One block: 128 random bits for a 128-bit counter under a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// The draws that belong to one seed and one name (a parameter, "shuffle").
class RandomStream {
public:
  RandomStream(uint64_t seed, std::string_view name);

  /// 128 random bits of an index; `lane` tells apart several draws of one
  /// index.
  std::array<uint32_t, 4> bits(uint64_t index, uint64_t lane = 0) const;
  /// Draws begin, begin + 1, ... of the uniform distribution on [low, high), or
  /// of the normal one; simd/Draws.h has the formulas. A draw does not
  /// depend on which others are made with it.
  void uniform(float low, float high, uint64_t begin,
               std::span<float> values) const;
  void normal(float mean, float deviation, uint64_t begin,
              std::span<float> values) const;
  /// Uniform in [0, bound), bound > 0. Biased by less than bound / 2^64.
  uint64_t below(uint64_t bound, uint64_t index, uint64_t lane = 0) const;

private:
  std::array<uint32_t, 2> key;
};

} // namespace shardc::runtime

#endif

// Initial values in bulk: Philox 4x32-10 and what is made of its words, many
// elements at once. Every result is the same bits on every processor: the
// formulas use integers and single correctly rounded float operations, in one
// order, and nothing is fused.
#ifndef SHARDC_RUNTIME_SIMD_DRAWS_H
#define SHARDC_RUNTIME_SIMD_DRAWS_H

#include <cstdint>

namespace shardc::runtime::simd {

/// Draw i is made of block i / 4, whose counter is (i / 4, 0), under the key
/// (key[0], key[1]); w[0..3] are the block's words.
struct DrawLoops {
  /// values[k] = low + (high - low) * u, u = (w[i % 4] >> 8) / 2^24 in [0, 1),
  /// i = begin + k.
  void (*uniform)(const uint32_t *key, float low, float high, uint64_t begin,
                  float *values, int64_t count);
  /// values[k] = mean + deviation * z, z by Box and Muller (Annals of
  /// Mathematical Statistics 29, 1958): draws 4b and 4b + 1 are cosine and sine
  /// of the angle 2 pi w[1] / 2^32 times sqrt(-2 ln((w[0] + 1) / 2^32)); 4b + 2
  /// and 4b + 3 the same of w[2] and w[3]. |z| < 6.7. The error of z is below
  /// 2^-22 of the largest that its radius allows.
  void (*normal)(const uint32_t *key, float mean, float deviation,
                 uint64_t begin, float *values, int64_t count);
};

/// The loops for this machine's processor.
const DrawLoops &drawLoops();

} // namespace shardc::runtime::simd

#endif

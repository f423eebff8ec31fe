// The 16-bit floats, which names call "half" (half precision) together.
#ifndef SHARDC_RUNTIME_SIMD_HALF_H
#define SHARDC_RUNTIME_SIMD_HALF_H

#include <cstdint>

namespace shardc::runtime {

/// Stored and sent, never computed with.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

} // namespace shardc::runtime

#endif

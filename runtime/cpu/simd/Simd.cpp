// Which build of the inner loops this processor runs.
#include "runtime/cpu/simd/Simd.h"
#include "runtime/cpu/simd/Draws.h"

using namespace shardc::runtime::cpu;

#define SHARDC_DECLARE_LEVEL(level)                                            \
  namespace shardc::runtime::cpu::level {                                      \
  extern const Simd<float> floatTable;                                         \
  extern const Simd<double> doubleTable;                                       \
  extern const HalfSimd<BFloat16> bfloat16Table;                               \
  extern const HalfSimd<Float16> float16Table;                                 \
  extern const DrawLoops drawTable;                                            \
  }
SHARDC_DECLARE_LEVEL(v2)
SHARDC_DECLARE_LEVEL(v3)
SHARDC_DECLARE_LEVEL(v4)

namespace {
struct Level {
  const char *name;
  const Simd<float> *floats;
  const Simd<double> *doubles;
  const HalfSimd<BFloat16> *bfloat16s;
  const HalfSimd<Float16> *float16s;
  const DrawLoops *draws;
};

#define SHARDC_LEVEL(level)                                                    \
  {"x86-64-" #level,      &level::floatTable,   &level::doubleTable,           \
   &level::bfloat16Table, &level::float16Table, &level::drawTable}

Level choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return SHARDC_LEVEL(v4);
  if (__builtin_cpu_supports("x86-64-v3"))
    return SHARDC_LEVEL(v3);
  return SHARDC_LEVEL(v2);
}
const Level &level() {
  static const Level chosen = choose();
  return chosen;
}
} // namespace

namespace shardc::runtime::cpu {
template <> const Simd<float> &simd<float>() { return *level().floats; }
template <> const Simd<double> &simd<double>() { return *level().doubles; }
template <> const HalfSimd<BFloat16> &halfSimd<BFloat16>() {
  return *level().bfloat16s;
}
template <> const HalfSimd<Float16> &halfSimd<Float16>() {
  return *level().float16s;
}
const DrawLoops &drawLoops() { return *level().draws; }
const char *simdLevel() { return level().name; }
} // namespace shardc::runtime::cpu

// Which build of the inner loops this processor runs.
#include "runtime/simd/Simd.h"
#include "runtime/simd/Draws.h"

using namespace shardc::runtime;
using namespace shardc::runtime::simd;

#define SHARDC_DECLARE_LEVEL(level)                                            \
  namespace shardc::runtime::simd::level {                                     \
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
  const Simd<float> *floats;
  const Simd<double> *doubles;
  const HalfSimd<BFloat16> *bfloat16s;
  const HalfSimd<Float16> *float16s;
  const DrawLoops *draws;
};

#define SHARDC_LEVEL(level)                                                    \
  {&level::floatTable, &level::doubleTable, &level::bfloat16Table,             \
   &level::float16Table, &level::drawTable}

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

namespace shardc::runtime::simd {
template <> const Simd<float> &loops<float>() { return *level().floats; }
template <> const Simd<double> &loops<double>() { return *level().doubles; }
template <> const HalfSimd<BFloat16> &halfLoops<BFloat16>() {
  return *level().bfloat16s;
}
template <> const HalfSimd<Float16> &halfLoops<Float16>() {
  return *level().float16s;
}
const DrawLoops &drawLoops() { return *level().draws; }
} // namespace shardc::runtime::simd

// Which build of the inner loops this processor runs.
#include "runtime/cpu/simd/Simd.h"

using namespace shardc::runtime::cpu;

#define SHARDC_DECLARE_LEVEL(level)                                            \
  namespace shardc::runtime::cpu::level {                                      \
  extern const Simd<float> floatTable;                                         \
  extern const Simd<double> doubleTable;                                       \
  }
SHARDC_DECLARE_LEVEL(v2)
SHARDC_DECLARE_LEVEL(v3)
SHARDC_DECLARE_LEVEL(v4)

namespace {
struct Level {
  const char *name;
  const Simd<float> *floats;
  const Simd<double> *doubles;
};

Level choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return {"x86-64-v4", &v4::floatTable, &v4::doubleTable};
  if (__builtin_cpu_supports("x86-64-v3"))
    return {"x86-64-v3", &v3::floatTable, &v3::doubleTable};
  return {"x86-64-v2", &v2::floatTable, &v2::doubleTable};
}
const Level &level() {
  static const Level chosen = choose();
  return chosen;
}
} // namespace

namespace shardc::runtime::cpu {
template <> const Simd<float> &simd<float>() { return *level().floats; }
template <> const Simd<double> &simd<double>() { return *level().doubles; }
const char *simdLevel() { return level().name; }
} // namespace shardc::runtime::cpu

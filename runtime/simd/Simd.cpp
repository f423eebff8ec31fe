// Which build of the inner loops this processor runs.
#include "runtime/simd/Simd.h"
#include "runtime/simd/Draws.h"
#include "runtime/simd/Level.h"
#include "runtime/simd/Pack.h"
#include "runtime/simd/SmallProduct.h"

using namespace shardc::runtime;
using namespace shardc::runtime::simd;

#define SHARDC_DECLARE_LEVEL(level)                                            \
  namespace shardc::runtime::simd::level {                                     \
  extern const Simd<float> floatTable;                                         \
  extern const Simd<double> doubleTable;                                       \
  extern const HalfSimd<BFloat16> bfloat16Table;                               \
  extern const HalfSimd<Float16> float16Table;                                 \
  extern const DrawLoops drawTable;                                            \
  extern const SmallProductLoops<float> smallFloatTable;                       \
  extern const SmallProductLoops<double> smallDoubleTable;                     \
  }
SHARDC_DECLARE_LEVEL(v2)
SHARDC_DECLARE_LEVEL(v3)
SHARDC_DECLARE_LEVEL(v4)
#define SHARDC_DECLARE_PACK(level)                                             \
  namespace shardc::runtime::simd::level {                                     \
  extern const PackLoops<float> packFloatTable;                                \
  extern const PackLoops<BFloat16> packBFloat16Table;                          \
  extern const PackLoops<Float16> packFloat16Table;                            \
  }
SHARDC_DECLARE_PACK(v3)
SHARDC_DECLARE_PACK(v4)
namespace shardc::runtime::simd::v4 {
extern const PackPairLoops packPairTable;
}

namespace {
struct Loops {
  const Simd<float> *floats;
  const Simd<double> *doubles;
  const HalfSimd<BFloat16> *bfloat16s;
  const HalfSimd<Float16> *float16s;
  const DrawLoops *draws;
  const SmallProductLoops<float> *smallFloats;
  const SmallProductLoops<double> *smallDoubles;
};

#define SHARDC_LOOPS(level)                                                    \
  {&level::floatTable,      &level::doubleTable, &level::bfloat16Table,        \
   &level::float16Table,    &level::drawTable,   &level::smallFloatTable,      \
   &level::smallDoubleTable}

const Loops &chosen() {
  static const Loops loops = level() >= 4   ? Loops SHARDC_LOOPS(v4)
                             : level() >= 3 ? Loops SHARDC_LOOPS(v3)
                                            : Loops SHARDC_LOOPS(v2);
  return loops;
}

template <typename S>
const PackLoops<S> &chosen(const PackLoops<S> &v3, const PackLoops<S> &v4) {
  return level() >= 4 ? v4 : v3;
}
} // namespace

namespace shardc::runtime::simd {
template <> const Simd<float> &loops<float>() { return *chosen().floats; }
template <> const Simd<double> &loops<double>() { return *chosen().doubles; }
template <> const HalfSimd<BFloat16> &halfLoops<BFloat16>() {
  return *chosen().bfloat16s;
}
template <> const HalfSimd<Float16> &halfLoops<Float16>() {
  return *chosen().float16s;
}
const DrawLoops &drawLoops() { return *chosen().draws; }
template <> const SmallProductLoops<float> &smallProductLoops<float>() {
  return *chosen().smallFloats;
}
template <> const SmallProductLoops<double> &smallProductLoops<double>() {
  return *chosen().smallDoubles;
}
template <> const PackLoops<float> &packLoops<float>() {
  return chosen(v3::packFloatTable, v4::packFloatTable);
}
template <> const PackLoops<BFloat16> &packLoops<BFloat16>() {
  return chosen(v3::packBFloat16Table, v4::packBFloat16Table);
}
template <> const PackLoops<Float16> &packLoops<Float16>() {
  return chosen(v3::packFloat16Table, v4::packFloat16Table);
}
const PackPairLoops &packPairLoops() { return v4::packPairTable; }
} // namespace shardc::runtime::simd

// What math ops of kernels call on a GPU, under the names that MLIR's lowering
// gives them.
#include "runtime/cuda/kernels/InverseFunctions.h"

namespace of = shardc::runtime::cuda;

#define SHARDC_FUNCTION(name, function)                                        \
  extern "C" __attribute__((device)) double __nv_##name(double x) {            \
    return of::function(x);                                                    \
  }                                                                            \
  extern "C" __attribute__((device)) float __nv_##name##f(float x) {           \
    return of::function(x);                                                    \
  }
SHARDC_FUNCTION(exp, exponential)
SHARDC_FUNCTION(expm1, exponentialMinusOne)
SHARDC_FUNCTION(log, logarithm)
SHARDC_FUNCTION(log1p, logarithmOfOnePlus)
SHARDC_FUNCTION(tanh, hyperbolicTangent)
SHARDC_FUNCTION(erf, errorFunction)

// These are rare, and their float32 is the float64 one's, rounded.
#define SHARDC_WIDE_FUNCTION(name, function)                                   \
  extern "C" __attribute__((device)) double __nv_##name(double x) {            \
    return of::function(x);                                                    \
  }                                                                            \
  extern "C" __attribute__((device)) float __nv_##name##f(float x) {           \
    return float(of::function(double(x)));                                     \
  }
SHARDC_WIDE_FUNCTION(sin, sine)
SHARDC_WIDE_FUNCTION(cos, cosine)
SHARDC_WIDE_FUNCTION(asin, inverseSine)
SHARDC_WIDE_FUNCTION(acos, inverseCosine)
SHARDC_WIDE_FUNCTION(atan, inverseTangent)
SHARDC_WIDE_FUNCTION(asinh, inverseHyperbolicSine)
SHARDC_WIDE_FUNCTION(acosh, inverseHyperbolicCosine)
SHARDC_WIDE_FUNCTION(atanh, inverseHyperbolicTangent)

#define SHARDC_WIDE_FUNCTION_OF_TWO(name, function)                            \
  extern "C" __attribute__((device)) double __nv_##name(double x, double y) {  \
    return of::function(x, y);                                                 \
  }                                                                            \
  extern "C" __attribute__((device)) float __nv_##name##f(float x, float y) {  \
    return float(of::function(double(x), double(y)));                          \
  }
SHARDC_WIDE_FUNCTION_OF_TWO(pow, power)
SHARDC_WIDE_FUNCTION_OF_TWO(fmod, remainder)

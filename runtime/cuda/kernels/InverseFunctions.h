// The inverses of trigonometric and hyperbolic functions, in float64: they are
// rare in models. Special values are those of C (ISO/IEC 9899, annex F). Errors
// are measured by test/emulated-cuda/FunctionsTest.cpp.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_INVERSEFUNCTIONS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_INVERSEFUNCTIONS_H

#include "runtime/cuda/kernels/Functions.h"

namespace shardc::runtime::cuda {

/// tan^-1, to 2 ulp: of the number itself, of its distance from 1 seen from
/// there, or of its inverse, so that the series runs over |t| <= tan(pi / 8).
SHARDC_DEVICE double inverseTangent(double x) {
  constexpr double upperHalfPi = 0x1.921fb54442d18p0,
                   lowerHalfPi = 0x1.1a62633145c07p-54;
  double size = absolute(x), t = size, upper = 0, lower = 0;
  if (size > 0x1.3504f333f9de6p1) { // tan(3 pi / 8)
    t = -1 / size;
    upper = upperHalfPi;
    lower = lowerHalfPi;
  } else if (size > 0x1.a827999fcef32p-2) { // tan(pi / 8)
    t = (size - 1) / (size + 1);
    upper = upperHalfPi / 2;
    lower = lowerHalfPi / 2;
  }
  // (tan^-1 t - t) / t^3 in t^2, by its nodes of Chebyshev: to 2^-59.
  constexpr double factors[] = {
      0x1.0acd9e91a5a35p-6,  -0x1.1b311bb48c215p-5, 0x1.74dccfb93fff0p-5,
      -0x1.ac7a5a79b3f26p-5, 0x1.e19a0bfa3eef9p-5,  -0x1.110e87b4357d2p-4,
      0x1.3b1392d519db1p-4,  -0x1.745d165dc9713p-4, 0x1.c71c71c303dbbp-4,
      -0x1.249249248d7dcp-3, 0x1.9999999999953p-3,  -0x1.5555555555555p-2};
  double square = t * t;
  double result =
      upper + (t + (t * square * polynomial(square, factors) + lower));
  return withSign(result, x);
}

/// To 4 ulp, as is the cosine's.
SHARDC_DEVICE double inverseSine(double x) {
  double size = absolute(x);
  if (size > 0.5) {
    // Half a quarter turn less twice the angle of half the rest: near 1 the
    // sine itself says little of the angle.
    double half = __builtin_sqrt((1 - size) / 2);
    return withSign(0x1.921fb54442d18p0 -
                        (2 * inverseSine(half) - 0x1.1a62633145c07p-54),
                    x);
  }
  return inverseTangent(x / __builtin_sqrt((1 - x) * (1 + x)));
}

SHARDC_DEVICE double inverseCosine(double x) {
  if (x > 0.5)
    return 2 * inverseSine(__builtin_sqrt((1 - x) / 2));
  return 0x1.921fb54442d18p0 - (inverseSine(x) - 0x1.1a62633145c07p-54);
}

/// To 3 ulp, log(x + sqrt(x^2 + 1)), where the square neither vanishes nor is infinite.
SHARDC_DEVICE double inverseHyperbolicSine(double x) {
  double size = absolute(x), result = size;
  if (size > 0x1p28)
    result = logarithm(size) + 0x1.62e42fefa39efp-1;
  else if (size > 0x1p-28)
    result = logarithmOfOnePlus(
        size + size * size / (1 + __builtin_sqrt(size * size + 1)));
  return withSign(result, x);
}

SHARDC_DEVICE double inverseHyperbolicCosine(double x) {
  if (x > 0x1p28)
    return logarithm(x) + 0x1.62e42fefa39efp-1;
  if (!(x >= 1))
    return __builtin_nan("");
  double above = x - 1;
  return logarithmOfOnePlus(above + __builtin_sqrt(above * (x + 1)));
}

SHARDC_DEVICE double inverseHyperbolicTangent(double x) {
  double size = absolute(x);
  return withSign(logarithmOfOnePlus(2 * size / (1 - size)) / 2, x);
}

} // namespace shardc::runtime::cuda

#endif

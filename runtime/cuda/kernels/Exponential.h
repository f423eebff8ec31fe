// exp and log for kernels, which have no CUDA library: by the machine's own
// approximations in float32, by polynomials in float64.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_EXPONENTIAL_H
#define SHARDC_RUNTIME_CUDA_KERNELS_EXPONENTIAL_H

#include "runtime/cuda/kernels/Device.h"

/// A device function whose parameters stay in registers.
#define SHARDC_INLINE SHARDC_DEVICE __attribute__((always_inline))

namespace shardc::runtime::cuda {

inline constexpr double ln2 = 0x1.62e42fefa39efp-1,
                        log2E = 0x1.71547652b82fep+0;
/// Their sum is ln(2); the upper part times an exponent is exact.
inline constexpr double ln2Upper = 0x1.62e42feep-1,
                        ln2Lower = 0x1.a39ef35793c76p-33;

#ifdef __CUDA__
/// 2^x, to 2 ulp (PTX ISA, ex2).
SHARDC_INLINE float powerOfTwo(float x) { return __nvvm_ex2_approx_f(x); }
SHARDC_INLINE float binaryLogarithm(float x) { return __nvvm_lg2_approx_f(x); }
#else
SHARDC_INLINE float powerOfTwo(float x) { return __builtin_exp2f(x); }
SHARDC_INLINE float binaryLogarithm(float x) { return __builtin_log2f(x); }
#endif

/// e^x: the error is that of powerOfTwo() and |x| 2^-24.
SHARDC_INLINE float exponential(float x) {
  return powerOfTwo(x * float(log2E));
}
/// log(x): the error is 2^-22 for x in [0.5, 2], else 3 ulp.
SHARDC_INLINE float logarithm(float x) {
  return binaryLogarithm(x) * float(ln2);
}

/// e^x, less than 1 ulp off. With x = k ln(2) + r, |r| <= ln(2) / 2 and k an
/// integer (Cody and Waite, Software Manual for the Elementary Functions, 1980),
/// e^x = 2^k e^r; e^r is Taylor's polynomial of degree 13, off by 5e-18.
SHARDC_INLINE double exponential(double x) {
  if (x < -746)
    return 0;
  if (!(x < 710)) // NaN stays one
    return x * 0x1p1023;
  double k = __builtin_rint(x * log2E);
  double r = __builtin_fma(-k, ln2Upper, x);
  r = __builtin_fma(-k, ln2Lower, r);
  double sum = 1.0 / 6227020800;
  sum = __builtin_fma(sum, r, 1.0 / 479001600);
  sum = __builtin_fma(sum, r, 1.0 / 39916800);
  sum = __builtin_fma(sum, r, 1.0 / 3628800);
  sum = __builtin_fma(sum, r, 1.0 / 362880);
  sum = __builtin_fma(sum, r, 1.0 / 40320);
  sum = __builtin_fma(sum, r, 1.0 / 5040);
  sum = __builtin_fma(sum, r, 1.0 / 720);
  sum = __builtin_fma(sum, r, 1.0 / 120);
  sum = __builtin_fma(sum, r, 1.0 / 24);
  sum = __builtin_fma(sum, r, 1.0 / 6);
  sum = __builtin_fma(sum, r, 0.5);
  sum = __builtin_fma(sum * r, r, r) + 1;
  // 2^k may lie outside of the normal numbers: two factors do not.
  int upper = int(k) / 2, lower = int(k) - upper;
  auto power = [](int exponent) {
    return __builtin_bit_cast(double, Count(exponent + 1023) << 52);
  };
  return sum * power(upper) * power(lower);
}

/// log(x) of a normal positive number, less than 1 ulp off. With x = 2^e (1 + f)
/// and s = f / (2 + f), log(1 + f) = f - s (f - R), where R = 2 (s^2 / 3 + s^4 /
/// 5 + ...) (as fdlibm's e_log.c reasons, Sun Microsystems, 1993); |s| <= 0.172.
SHARDC_INLINE double logarithm(double x) {
  if (!(x < __builtin_inf())) // NaN as well
    return x;
  Count bits = __builtin_bit_cast(Count, x);
  // Begins at sqrt(1/2).
  Count shifted = bits - 0x3fe6a09e667f3bcd;
  Count exponent = shifted >> 52;
  double f = __builtin_bit_cast(double, bits - (exponent << 52)) - 1;
  double s = f / (2 + f), z = s * s;
  double sum = 2.0 / 23;
  sum = __builtin_fma(sum, z, 2.0 / 21);
  sum = __builtin_fma(sum, z, 2.0 / 19);
  sum = __builtin_fma(sum, z, 2.0 / 17);
  sum = __builtin_fma(sum, z, 2.0 / 15);
  sum = __builtin_fma(sum, z, 2.0 / 13);
  sum = __builtin_fma(sum, z, 2.0 / 11);
  sum = __builtin_fma(sum, z, 2.0 / 9);
  sum = __builtin_fma(sum, z, 2.0 / 7);
  sum = __builtin_fma(sum, z, 2.0 / 5);
  sum = __builtin_fma(sum, z, 2.0 / 3);
  double below = s * (f - sum * z) - double(exponent) * ln2Lower;
  return __builtin_fma(double(exponent), ln2Upper, f - below);
}

} // namespace shardc::runtime::cuda

#endif

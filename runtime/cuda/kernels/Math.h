// Exponentials and logarithms of kernels: the compiler for devices has no math
// library to link. Errors are measured by test/emulated-cuda/LossKernelsTest.cpp.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MATH_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MATH_H

#include "runtime/cuda/kernels/Device.h"

namespace shardc::runtime::cuda {

using Word64 = unsigned long long;

template <typename T> inline constexpr T infinity = T(__builtin_inf());

/// 2^exponent, for a normal number: -1022 to 1023, or -126 to 127.
SHARDC_DEVICE double powerOfTwo(int exponent, double) {
  return __builtin_bit_cast(double, Word64(exponent + 1023) << 52);
}
SHARDC_DEVICE float powerOfTwo(int exponent, float) {
  return __builtin_bit_cast(float, Word32(exponent + 127) << 23);
}

/// Multiplies by 2^exponent in two steps, so that results may be subnormal:
/// they are rounded once, in the second. Exponents: any that is less than twice
/// a normal number's.
template <typename T> SHARDC_DEVICE T scaled(T value, int exponent) {
  int half = exponent / 2;
  return value * powerOfTwo(half, T()) * powerOfTwo(exponent - half, T());
}

/// 2^x, for |x| <= 1/2.
SHARDC_DEVICE float exponentialOfTwo(float x) {
#ifdef __CUDA__
  return __nvvm_ex2_approx_f(x); // 2 ulp (PTX ISA, ex2.approx)
#else
  return __builtin_exp2f(x);
#endif
}

/// e^x to 4 ulp. The argument is taken apart as n ln 2 + r in two steps (Cody
/// and Waite, Software Manual for the Elementary Functions, 1980), so the error
/// does not grow with |x|.
SHARDC_DEVICE float exponential(float x) {
  if (x > 89)
    return infinity<float>;
  if (x < -104)
    return 0;
  float n = __builtin_rintf(x * 0x1.715476p0f); // log2(e)
  // r log2(e): log2(e) is 0x1.715476p0 + 0x1.4ae0cp-26.
  float r = __builtin_fmaf(x, 0x1.715476p0f, -n);
  r = __builtin_fmaf(x, 0x1.4ae0cp-26f, r);
  if (n != n)
    return n;
  return scaled(exponentialOfTwo(r), int(n));
}

/// e^x to less than 1 ulp where the result is normal: x = n ln 2 + r as above,
/// and Taylor's polynomial of degree 13, whose next term is below 2^-57.
SHARDC_DEVICE double exponential(double x) {
  if (x > 710)
    return infinity<double>;
  if (x < -746)
    return 0;
  double n = __builtin_rint(x * 0x1.71547652b82fep0);
  if (n != n)
    return n;
  // The upper part of ln 2 has 33 bits: n times it is exact.
  double r = __builtin_fma(n, -0x1.62e42feep-1, x);
  r = __builtin_fma(n, -0x1.a39ef35793c76p-33, r);
  constexpr double inverseFactorials[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
      1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
      1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
  double sum = inverseFactorials[0];
#pragma unroll
  for (int i = 1; i < 12; ++i)
    sum = __builtin_fma(sum, r, inverseFactorials[i]);
  // 1 + (r + r^2 sum): the small terms first.
  double result = 1 + __builtin_fma(r * r, sum, r);
  return scaled(result, int(n));
}

/// The natural logarithm to less than 1 ulp. x = 2^k (1 + f), 1 + f in
/// [sqrt(1/2), sqrt(2)), and with s = f / (2 + f)
///   log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)),
///   R = 2/3 s^2 + 2/5 s^4 + ...,
/// which adds what is small to what is large (P. W. K. Tang, Table-Driven
/// Implementation of the Logarithm Function, 1990, and fdlibm have this form);
/// the series ends where the next term is below 2^-58.
SHARDC_DEVICE double logarithm(double x) {
  if (!(x > 0))
    return x == 0 ? -infinity<double> : __builtin_nan("");
  if (x == infinity<double>)
    return x;
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  Word64 bits = __builtin_bit_cast(Word64, x);
  // From the bits of sqrt(1/2) on, the exponent goes up by one.
  Word64 up = bits - 0x3fe6a09e667f3bcdULL;
  k += int((long long)up >> 52);
  double f =
      __builtin_bit_cast(double, bits - (up & 0xfff0000000000000ULL)) - 1;
  double s = f / (2 + f), z = s * s;
  double series = 2.0 / 23;
#pragma unroll
  for (int odd = 21; odd >= 3; odd -= 2)
    series = __builtin_fma(series, z, 2.0 / odd);
  series *= z;
  double half = 0.5 * f * f, high = double(k) * 0x1.62e42feep-1,
         low = double(k) * 0x1.a39ef35793c76p-33;
  return high - ((half - __builtin_fma(s, half + series, low)) - f);
}

} // namespace shardc::runtime::cuda

#endif

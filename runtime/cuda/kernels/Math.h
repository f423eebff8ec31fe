// Exponentials and logarithms of kernels: the compiler for devices has no math
// library to link. Errors are measured by test/emulated-cuda/LossKernelsTest.cpp.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MATH_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MATH_H

#include "runtime/cuda/kernels/Device.h"

namespace shardc::runtime::cuda {

using Word64 = unsigned long long;

template <typename T> inline constexpr T infinity = T(__builtin_inf());

SHARDC_DEVICE float multiplyAdd(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
SHARDC_DEVICE double multiplyAdd(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
SHARDC_DEVICE float nearest(float x) { return __builtin_rintf(x); }
SHARDC_DEVICE double nearest(double x) { return __builtin_rint(x); }
SHARDC_DEVICE float absolute(float x) { return __builtin_fabsf(x); }
SHARDC_DEVICE double absolute(double x) { return __builtin_fabs(x); }
SHARDC_DEVICE float withSign(float x, float sign) {
  return __builtin_copysignf(x, sign);
}
SHARDC_DEVICE double withSign(double x, double sign) {
  return __builtin_copysign(x, sign);
}

/// 2^exponent, from -1022 to 1023.
SHARDC_DEVICE double powerOfTwo(int exponent) {
  return __builtin_bit_cast(double, Word64(exponent + 1023) << 52);
}

/// 2^x to 2 ulp.
SHARDC_DEVICE float exponentialOfTwo(float x) {
#ifdef __CUDA__
  return __nvvm_ex2_approx_f(x); // PTX ISA, ex2.approx
#else
  return __builtin_exp2f(x);
#endif
}

/// a / b to 2 ulp, b in [2^-126, 2^126].
SHARDC_DEVICE float quotientOfTwoUlp(float a, float b) {
#ifdef __CUDA__
  return __nvvm_div_approx_f(a, b); // PTX ISA, div.approx
#else
  return a / b;
#endif
}

/// e^x to 4 ulp: 2^(high + low) = 2^high (1 + low ln 2), where high + low is
/// x log2(e) to more bits than one number has. So the error does not grow with
/// |x|.
SHARDC_DEVICE float exponential(float x) {
  // What is beyond gives infinity and 0 as these do; no number stays none.
  x = x > 89 ? 89 : x;
  x = x < -104 ? -104 : x;
  // log2(e) is 0x1.715476p0 + 0x1.4ae0cp-26.
  float high = x * 0x1.715476p0f;
  float low = __builtin_fmaf(x, 0x1.715476p0f, -high);
  low = __builtin_fmaf(x, 0x1.4ae0cp-26f, low);
  return exponentialOfTwo(high) * __builtin_fmaf(low, 0x1.62e43p-1f, 1);
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
  // In two steps: what is subnormal is rounded once, in the second.
  int exponent = int(n), half = exponent / 2;
  return result * powerOfTwo(half) * powerOfTwo(exponent - half);
}

/// x = 2^exponent (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)).
template <typename T> struct Scaled {
  T fraction;
  int exponent;
};
/// Of a positive, finite number.
SHARDC_DEVICE Scaled<double> scaled(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  Word64 bits = __builtin_bit_cast(Word64, x);
  // From the bits of sqrt(1/2) on, the exponent goes up by one.
  Word64 up = bits - 0x3fe6a09e667f3bcdULL;
  exponent += int((long long)up >> 52);
  bits -= up & 0xfff0000000000000ULL;
  return {__builtin_bit_cast(double, bits) - 1, exponent};
}
SHARDC_DEVICE Scaled<float> scaled(float x) {
  int exponent = 0;
  if (x < 0x1p-126f) {
    x *= 0x1p25f;
    exponent = -25;
  }
  Word32 bits = __builtin_bit_cast(Word32, x);
  Word32 up = bits - 0x3f3504f3;
  exponent += int(up) >> 23;
  bits -= up & 0xff800000;
  return {__builtin_bit_cast(float, bits) - 1, exponent};
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
  auto [f, k] = scaled(x);
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

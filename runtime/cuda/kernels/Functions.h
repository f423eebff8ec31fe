// The elementary functions of kernels, beside Math.h's exponentials and
// logarithms: no CUDA toolkit has to be where a trainer is compiled. Special
// values are those of C (ISO/IEC 9899, annex F). Errors are measured by
// test/emulated-cuda/FunctionsTest.cpp.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_FUNCTIONS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_FUNCTIONS_H

#include "runtime/cuda/kernels/Math.h"

namespace shardc::runtime::cuda {

/// sum[0] x^(n-1) + ... + sum[n-1].
template <typename T, int n>
SHARDC_DEVICE T polynomial(T x, const T (&factors)[n]) {
  T sum = factors[0];
#pragma unroll
  for (int i = 1; i < n; ++i)
    sum = multiplyAdd(sum, x, factors[i]);
  return sum;
}

/// The natural logarithm to 1 ulp: Math.h's for float64, with what float32 needs
/// of it.
SHARDC_DEVICE float logarithm(float x) {
  if (!(x > 0))
    return x == 0 ? -infinity<float> : __builtin_nanf("");
  if (x == infinity<float>)
    return x;
  auto [f, k] = scaled(x);
  float s = f / (2 + f), z = s * s;
  constexpr float factors[] = {2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5,
                               2.0f / 3};
  float series = z * polynomial(z, factors);
  // The upper part of ln 2 has 15 bits: k times it is exact.
  float half = 0.5f * f * f, high = float(k) * 0x1.62e4p-1f,
        low = float(k) * 0x1.7f7d1cp-20f;
  return high - ((half - multiplyAdd(s, half + series, low)) - f);
}

template <typename T> struct Exponent;
template <> struct Exponent<double> {
  static constexpr double upperLn2 = 0x1.62e42feep-1;
  static constexpr double lowerLn2 = 0x1.a39ef35793c76p-33;
  static constexpr double largest = 709, least = -40;
  /// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2: the next term is below 2^-62.
  static SHARDC_DEVICE double series(double r) {
    constexpr double factors[] = {1.0 / 87178291200,
                                  1.0 / 6227020800,
                                  1.0 / 479001600,
                                  1.0 / 39916800,
                                  1.0 / 3628800,
                                  1.0 / 362880,
                                  1.0 / 40320,
                                  1.0 / 5040,
                                  1.0 / 720,
                                  1.0 / 120,
                                  1.0 / 24,
                                  1.0 / 6,
                                  0.5};
    return polynomial(r, factors);
  }
  static SHARDC_DEVICE double powerOfTwo(int n) { return cuda::powerOfTwo(n); }
};
template <> struct Exponent<float> {
  static constexpr float upperLn2 = 0x1.62e4p-1f;
  static constexpr float lowerLn2 = 0x1.7f7d1cp-20f;
  static constexpr float largest = 88, least = -18;
  static SHARDC_DEVICE float series(float r) {
    constexpr float factors[] = {1.0f / 40320, 1.0f / 5040, 1.0f / 720,
                                 1.0f / 120,   1.0f / 24,   1.0f / 6,
                                 0.5f};
    return polynomial(r, factors);
  }
  static SHARDC_DEVICE float powerOfTwo(int n) {
    return __builtin_bit_cast(float, Word32(n + 127) << 23);
  }
};

/// e^x - 1 to 2 ulp: with x = n ln 2 + r it is 2^n (e^r - 1) + (2^n - 1).
template <typename T> SHARDC_DEVICE T exponentialMinusOne(T x) {
  using Of = Exponent<T>;
  if (x == 0)
    return x;
  if (x > Of::largest)
    return exponential(x);
  if (x < Of::least)
    return -1;
  T n = nearest(x * T(0x1.71547652b82fep0));
  T r = multiplyAdd(n, -Of::upperLn2, x);
  r = multiplyAdd(n, -Of::lowerLn2, r);
  T power = n == n ? Of::powerOfTwo(int(n)) : n;
  return multiplyAdd(power, multiplyAdd(r * r, Of::series(r), r), power - 1);
}

/// log(1 + x) to 2 ulp: what rounding 1 + x loses, over 1 + x, is the
/// logarithm's error (Goldberg, What Every Computer Scientist Should Know About
/// Floating-Point Arithmetic, 1991, theorem 4).
template <typename T> SHARDC_DEVICE T logarithmOfOnePlus(T x) {
  if (!(x > -1))
    return x == -1 ? -infinity<T> : T(__builtin_nan(""));
  if (x == 0)
    return x;
  if (x > T(0x1p60))
    return logarithm(x);
  T sum = 1 + x;
  T lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
  return logarithm(sum) + lost / sum;
}

/// To 3 ulp: (e^2x - 1) / (e^2x + 1).
template <typename T> SHARDC_DEVICE T hyperbolicTangent(T x) {
  T size = absolute(x);
  T power = exponentialMinusOne(2 * (size > 22 ? T(22) : size));
  T result = size >= 1 ? 1 - 2 / (power + 2) : power / (power + 2);
  return withSign(result, x);
}

/// To 3 ulp as well, and without branches, since most of gelu is this: a warp
/// would take both ways. Up to 3/4 it is x + x^3 times a polynomial, whose
/// relative error is 2^-25; behind that what ex2.approx and div.approx are off by
/// (PTX ISA: 2^-22, 2 ulp) is less than half of itself in the result.
SHARDC_DEVICE float hyperbolicTangent(float x) {
  float size = absolute(x), square = x * x;
  constexpr float factors[] = {-0x1.351556p-8f, 0x1.40d88ep-6f, -0x1.b4ff5ap-5f,
                               0x1.10e78p-3f, -0x1.55545ap-2f};
  float near = multiplyAdd(x, square * polynomial(square, factors), x);
  // From 22 on it rounds to 1.
  float power = exponentialOfTwo((size > 22 ? 22 : size) * 0x1.715476p1f);
  float far = withSign(1 - quotientOfTwoUlp(2, power + 1), x);
  return size < 0.75f ? near : far;
}

template <typename T> struct ErrorFunction;
template <> struct ErrorFunction<double> {
  /// From here on it rounds to 1.
  static constexpr double largest = 6;
  /// erf(x) / x for x^2 in [0, 1].
  static SHARDC_DEVICE double small(double square) {
    constexpr double factors[] = {
        0x1.05ffd737fb32ep-46,  -0x1.acbabce2865e7p-42, 0x1.428e938efe043p-37,
        -0x1.bf8d2c72b9b8cp-33, 0x1.1ad5edf90dd8p-28,   -0x1.429e93e668f24p-24,
        0x1.486638bc9befep-20,  -0x1.263991b802ee6p-16, 0x1.c82aa249df46p-13,
        -0x1.2b902b7b2f28ep-9,  0x1.454368017b042p-6,   -0x1.1fd16292151fdp-3,
        0x1.ee51eb23cb7eap-1};
    return polynomial(2 * square - 1, factors);
  }
  /// e^(x^2) erfc(x) for t = 2 / (2 + x) in [1/4, 2/3].
  static SHARDC_DEVICE double rest(double t) {
    constexpr double factors[] = {
        -0x1.972123e71fec4p-47, 0x1.6047ff95d985p-46,   0x1.b8f62fff3b97p-43,
        -0x1.1f1efe5e0be5fp-40, -0x1.08275a84268d9p-42, 0x1.87f9a755f8791p-36,
        -0x1.434cb49304534p-34, -0x1.2795f2dff86ep-32,  0x1.68a1dfe70bbc7p-29,
        -0x1.438cc4900b92ap-31, -0x1.2ce04532dcc8cp-24, 0x1.5f1cb831e80c6p-23,
        0x1.09b139d77acep-19,   -0x1.ec9d234b0730ep-18, -0x1.52ddf8014442fp-14,
        0x1.9d6e4a46754aap-13,  0x1.6e44c72762ecdp-8,   0x1.3be3609c853acp-5,
        0x1.4b8edae15a041p-3,   0x1.c57cd9cd3f3a9p-3};
    return polynomial((t - 11.0 / 24) * (24.0 / 5), factors);
  }
};
template <> struct ErrorFunction<float> {
  static constexpr float largest = 4;
  static SHARDC_DEVICE float small(float square) {
    constexpr float factors[] = {
        0x1.4a569p-20f, -0x1.287012p-16f, 0x1.c828b2p-13f, -0x1.2b8df4p-9f,
        0x1.454368p-6f, -0x1.1fd164p-3f,  0x1.ee51ecp-1f};
    return polynomial(2 * square - 1, factors);
  }
  /// For t in [1/3, 2/3].
  static SHARDC_DEVICE float rest(float t) {
    constexpr float factors[] = {
        0x1.0533eep-27f,  0x1.cd4682p-22f, -0x1.382098p-20f,
        -0x1.e2e07ap-16f, 0x1.829764p-15f, 0x1.7f6708p-9f,
        0x1.b7ece2p-6f,   0x1.23a024p-3f,  0x1.058672p-2f};
    return polynomial(6 * t - 3, factors);
  }
};

/// To 2 ulp. Both polynomials interpolate at Chebyshev's points.
template <typename T> SHARDC_DEVICE T errorFunction(T x) {
  using Of = ErrorFunction<T>;
  T size = absolute(x);
  if (size < 1)
    return x * Of::small(x * x);
  if (size > Of::largest)
    return withSign(T(1), x);
  return withSign(1 - exponential(-size * size) * Of::rest(2 / (2 + size)), x);
}

/// An angle less a multiple of pi/2: `high` + `low` in [-pi/4, pi/4], and how
/// many quarters of a turn that was, modulo 4.
struct ReducedAngle {
  double high, low;
  int quarters;
};

/// pi/2 is upper + middle to 106 bits.
constexpr double upperQuarter = 0x1.921fb54442d18p+0;
constexpr double middleQuarter = 0x1.1a62633145c07p-54;

/// The bits of 2/pi behind the point from `first` on, 64 of them.
SHARDC_DEVICE Word64 bitsOfTwoOverPi(int first) {
  // The largest float64 asks for bit 1225.
  static constexpr Word64 words[] = {
      0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL,
      0xfe5163abdebbc561ULL, 0xb7246e3a424dd2e0ULL, 0x06492eea09d1921cULL,
      0xfe1deb1cb129a73eULL, 0xe88235f52ebb4484ULL, 0xe99c7026b45f7e41ULL,
      0x3991d639835339f4ULL, 0x9c845f8bbdf9283bULL, 0x1ff897ffde05980fULL,
      0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL,
      0x7527bac7ebe5f17bULL, 0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL,
      0x56033046fc7b6babULL, 0xf0cfbc209af4361dULL};
  if (first < 0)
    return first <= -64 ? 0 : words[0] >> -first;
  int word = first / 64, shift = first % 64;
  return shift ? words[word] << shift | words[word + 1] >> (64 - shift)
               : words[word];
}

/// M. Payne and R. Hanek, Radian Reduction for Trigonometric Functions, 1983: of
/// x 2/pi, x = m 2^e, the bits above 4 do not matter, so that a window of 192
/// bits of 2/pi is all that m is multiplied by.
SHARDC_DEVICE ReducedAngle reduceLargeAngle(double x) {
  Word64 bits = __builtin_bit_cast(Word64, x);
  int exponent = int(bits >> 52 & 0x7ff) - 1075;
  Word64 m = (bits & 0xfffffffffffffULL) | 0x10000000000000ULL;
  int first = exponent - 2;
  // The lowest 192 bits of m times the window: the fraction of four quarters.
  unsigned __int128 product =
      static_cast<unsigned __int128>(m) * bitsOfTwoOverPi(first + 128);
  Word64 carried = Word64(product >> 64);
  product =
      static_cast<unsigned __int128>(m) * bitsOfTwoOverPi(first + 64) + carried;
  Word64 lower = Word64(product);
  Word64 upper = m * bitsOfTwoOverPi(first) + Word64(product >> 64);
  int quarters = int(upper >> 62);
  upper = upper << 2 | lower >> 62;
  lower <<= 2;
  // To the nearest quarter.
  bool isUp = upper >> 63;
  quarters += isUp;
  if (isUp) {
    upper = ~upper;
    lower = ~lower;
  }
  // As a sum of two: 53 bits, and what is behind them.
  double high = double(upper >> 11) * 0x1p-53;
  double low = double((upper & 0x7ff) << 53 | lower >> 11) * 0x1p-117;
  double sum = high * upperQuarter;
  double error = __builtin_fma(high, upperQuarter, -sum);
  error += high * middleQuarter + low * upperQuarter;
  double result = sum + error;
  error -= result - sum;
  bool isNegative = isUp != (bits >> 63 != 0);
  if (bits >> 63)
    quarters = -quarters;
  return {isNegative ? -result : result, isNegative ? -error : error,
          quarters & 3};
}

SHARDC_DEVICE ReducedAngle reduceAngle(double x) {
  if (!(absolute(x) < 0x1p20))
    return reduceLargeAngle(x);
  // n pi/2 in three parts (W. Cody and W. Waite): the first difference is exact.
  double n = nearest(x * 0x1.45f306dc9c883p-1);
  double first = __builtin_fma(-n, upperQuarter, x);
  double product = n * middleQuarter;
  double high = first - product;
  double low = (first - high) - product;
  low -= __builtin_fma(n, middleQuarter, -product);
  return {high, low, int(n) & 3};
}

/// Taylor's, whose next terms are below 2^-62 at pi/4.
SHARDC_DEVICE double sineOf(const ReducedAngle &angle) {
  constexpr double factors[] = {1.0 / 355687428096000,
                                -1.0 / 1307674368000,
                                1.0 / 6227020800,
                                -1.0 / 39916800,
                                1.0 / 362880,
                                -1.0 / 5040,
                                1.0 / 120,
                                -1.0 / 6};
  double r = angle.high, z = r * r;
  double series = z * r * polynomial(z, factors);
  return r + (series + angle.low * (1 - 0.5 * z));
}
SHARDC_DEVICE double cosineOf(const ReducedAngle &angle) {
  constexpr double factors[] = {
      1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
      1.0 / 40320,          -1.0 / 720,         1.0 / 24};
  double r = angle.high, z = r * r, half = 0.5 * z, one = 1 - half;
  return one + (((1 - one) - half) +
                (z * z * polynomial(z, factors) - r * angle.low));
}

/// To 1 ulp, for angles of any size.
SHARDC_DEVICE double sine(double x, int quarters = 0) {
  if (!(absolute(x) < infinity<double>))
    return __builtin_nan("");
  ReducedAngle angle = reduceAngle(x);
  quarters += angle.quarters;
  double result = quarters & 1 ? cosineOf(angle) : sineOf(angle);
  if (x == 0 && !(quarters & 1))
    return x;
  return quarters & 2 ? -result : result;
}
SHARDC_DEVICE double cosine(double x) { return sine(x, 1); }

/// log(x), x > 0 and finite, as a sum of two to 2^-60: Math.h's series, whose
/// first term is a sum of two as well.
SHARDC_DEVICE double preciseLogarithm(double x, double &low) {
  auto [f, k] = scaled(x);
  // s = f / (2 + f), and what it lacks.
  double divisor = 2 + f, lost = f - (divisor - 2);
  double s = f / divisor;
  double rest = (__builtin_fma(-s, divisor, f) - s * lost) / divisor;
  double z = s * s;
  constexpr double factors[] = {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19,
                                2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                2.0 / 9,  2.0 / 7,  2.0 / 5};
  // 2/3 s^3 as a sum of two; what is behind it is less by s^2.
  double square = z, squareLow = __builtin_fma(s, s, -z) + 2 * s * rest;
  double cube = square * s;
  double cubeLow =
      __builtin_fma(square, s, -cube) + squareLow * s + square * rest;
  constexpr double third = 0x1.5555555555555p-1,
                   thirdLow = 0x1.5555555555555p-55;
  double term = cube * third;
  double termLow = __builtin_fma(cube, third, -term) + cube * thirdLow +
                   cubeLow * third + cube * z * polynomial(z, factors);
  // k ln 2 + 2 s + term, the largest first.
  constexpr double upperLn2 = 0x1.62e42feep-1, lowerLn2 = 0x1.a39ef35793c76p-33,
                   lowestLn2 = 0x1.cc01f97b57a08p-87;
  double a = double(k) * upperLn2, b = 2 * s;
  double sum = a + b;
  double error = k ? b - (sum - a) : a - (sum - b);
  double whole = sum + term;
  error += term - (whole - sum);
  error += double(k) * lowestLn2 + termLow + 2 * rest;
  double part = double(k) * lowerLn2;
  double result = whole + part;
  error += absolute(whole) >= absolute(part) ? part - (result - whole)
                                             : whole - (result - part);
  double high = result + error;
  low = error - (high - result);
  return high;
}

/// x^y to 2 ulp, as e^(y log x).
SHARDC_DEVICE double power(double x, double y) {
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return x + y;
  double size = absolute(x);
  bool isWhole = nearest(y) == y;
  bool isOdd = isWhole && absolute(y) < 0x1p53 && ((long long)y & 1);
  bool isNegative = isOdd && (__builtin_bit_cast(Word64, x) >> 63);
  double result;
  if (absolute(y) == infinity<double>)
    result = size == 1 ? 1 : (size > 1) == (y > 0) ? infinity<double> : 0;
  else if (size == 0 || size == infinity<double>)
    result = (size == 0) == (y > 0) ? 0 : infinity<double>;
  else if (x < 0 && !isWhole)
    return __builtin_nan("");
  else {
    double low, high = preciseLogarithm(size, low);
    double product = y * high;
    if (!(absolute(product) < 800))
      result = product > 0 ? infinity<double> : 0;
    else {
      double error = __builtin_fma(y, high, -product) + y * low;
      result = exponential(product);
      if (result < infinity<double>)
        result = __builtin_fma(result, error, result);
    }
  }
  return isNegative ? -result : result;
}

/// A positive float64: mantissa 2^(exponent - 1075), with 53 bits of mantissa
/// for subnormal numbers as well.
struct Parts {
  Word64 mantissa;
  int exponent;
};
SHARDC_DEVICE Parts partsOf(double x) {
  Word64 bits = __builtin_bit_cast(Word64, x), low = bits & 0xfffffffffffffULL;
  int exponent = int(bits >> 52);
  if (exponent)
    return {low | 0x10000000000000ULL, exponent};
  int shift = __builtin_clzll(low) - 11;
  return {low << shift, 1 - shift};
}

/// What is left of x when y is taken away as often as it fits: exact.
SHARDC_DEVICE double remainder(double x, double y) {
  double size = absolute(x), step = absolute(y);
  if (!(size < infinity<double>) || y != y || y == 0)
    return __builtin_nan("");
  if (size < step)
    return x;
  Parts left = partsOf(size), divisor = partsOf(step);
  for (int times = left.exponent - divisor.exponent;; --times) {
    if (left.mantissa >= divisor.mantissa)
      left.mantissa -= divisor.mantissa;
    if (times == 0)
      break;
    left.mantissa <<= 1;
  }
  if (left.mantissa == 0)
    return withSign(0.0, x);
  int shift = __builtin_clzll(left.mantissa) - 11;
  Word64 m = left.mantissa << shift;
  int exponent = divisor.exponent - shift;
  Word64 bits = exponent < 1
                    ? m >> (1 - exponent)
                    : (Word64(exponent) << 52) + (m - 0x10000000000000ULL);
  return withSign(__builtin_bit_cast(double, bits), x);
}

} // namespace shardc::runtime::cuda

#endif

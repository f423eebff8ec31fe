// Vectors of 64 bytes for Kernels.cpp; the compiler splits them where registers
// are narrower, so that lanes, and with them the order of sums, are the same on
// every processor. Include from Kernels.cpp only: its flags differ from the
// rest.
#ifndef SHARDC_RUNTIME_SIMD_VECTOR_H
#define SHARDC_RUNTIME_SIMD_VECTOR_H

#include <cstdint>

#define SHARDC_INLINE static inline __attribute__((always_inline))

// In an unnamed namespace: the same names exist in three object files, compiled
// differently.
namespace {

typedef float Float16x __attribute__((vector_size(64)));
typedef double Double8x __attribute__((vector_size(64)));
typedef double Double16x __attribute__((vector_size(128)));
typedef int32_t Int16x __attribute__((vector_size(64)));
typedef int64_t Int8x __attribute__((vector_size(64)));
typedef uint32_t Unsigned16x __attribute__((vector_size(64)));
typedef uint16_t Word16x __attribute__((vector_size(32)));
typedef _Float16 Half16x __attribute__((vector_size(32)));

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
  using Type = Float16x;
  using Bits = Int16x;
  using Wide = Double16x; // the lanes in double
  static constexpr int lanes = 16;
};
template <> struct VectorOf<double> {
  using Type = Double8x;
  using Bits = Int8x;
  using Wide = Double8x;
  static constexpr int lanes = 8;
};
template <typename T> using Vector = typename VectorOf<T>::Type;
template <typename T> using Bits = typename VectorOf<T>::Bits;
template <typename T> using Wide = typename VectorOf<T>::Wide;
template <typename T> constexpr int lanes = VectorOf<T>::lanes;

template <typename T> SHARDC_INLINE Vector<T> broadcast(T value) {
  return Vector<T>{} + value;
}
template <typename T> SHARDC_INLINE Vector<T> load(const T *from) {
  Vector<T> value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
template <typename T> SHARDC_INLINE void store(T *to, Vector<T> value) {
  __builtin_memcpy(to, &value, sizeof(value));
}
/// The first `count` < lanes elements; the rest are `rest`.
template <typename T>
SHARDC_INLINE Vector<T> loadPart(const T *from, int64_t count, T rest) {
  Vector<T> value = broadcast<T>(rest);
  for (int64_t i = 0; i < count; ++i)
    value[i] = from[i];
  return value;
}
template <typename T>
SHARDC_INLINE void storePart(T *to, Vector<T> value, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = value[i];
}

template <typename T>
SHARDC_INLINE Vector<T> multiplyAdd(Vector<T> a, Vector<T> b, Vector<T> c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}
template <typename T> SHARDC_INLINE Vector<T> squareRoot(Vector<T> a) {
  return __builtin_elementwise_sqrt(a);
}
/// The larger; b where a is not a number.
template <typename T> SHARDC_INLINE Vector<T> larger(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}

/// The absolute value's bits: ordered as integers they are ordered as the
/// values, infinity behind all and what is not a number behind that.
SHARDC_INLINE Int16x magnitudeBits(Float16x a) {
  return (Int16x)a & 0x7fffffff;
}
SHARDC_INLINE Int8x magnitudeBits(Double8x a) {
  return (Int8x)a & 0x7fffffffffffffff;
}

// 16-bit floats. Rounding is to nearest even; what is not a number stays so,
// quiet, with the upper bits of its payload, as the processor's own conversion
// of float16 leaves it.
SHARDC_INLINE Float16x widenBFloat16(Word16x words) {
  return (Float16x)(__builtin_convertvector(words, Unsigned16x) << 16);
}
SHARDC_INLINE Word16x roundToBFloat16(Float16x value) {
  Unsigned16x word = (Unsigned16x)value;
  Unsigned16x rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
  Unsigned16x quiet = (word >> 16) | 0x40;
  Unsigned16x result =
      (word & 0x7fffffff) > 0x7f800000u + Unsigned16x{} ? quiet : rounded;
  return __builtin_convertvector(result, Word16x);
}
SHARDC_INLINE Float16x widenFloat16(Word16x words) {
#ifdef __F16C__
  return __builtin_convertvector((Half16x)words, Float16x);
#else
  Unsigned16x word = __builtin_convertvector(words, Unsigned16x);
  // Exact also for subnormal ones: the product normalises them.
  Float16x magnitude = (Float16x)((word & 0x7fff) << 13) * 0x1p112f;
  Unsigned16x bits = (Unsigned16x)magnitude;
  Unsigned16x special =
      (word & 0x7c00) == 0x7c00u + Unsigned16x{} ? bits | 0x7f800000 : bits;
  return (Float16x)(special | (word & 0x8000) << 16);
#endif
}
SHARDC_INLINE Word16x roundToFloat16(Float16x value) {
#ifdef __F16C__
  return (Word16x) __builtin_convertvector(value, Half16x);
#else
  const Unsigned16x zero = {};
  Unsigned16x word = (Unsigned16x)value & 0x7fffffff;
  Unsigned16x normal = (word + 0xfff + ((word >> 13) & 1) - 0x38000000) >> 13;
  // Below 2^-14 the sum with 1/2 rounds at 2^-24, the last place there.
  Unsigned16x subnormal = (Unsigned16x)((Float16x)word + 0.5f) - 0x3f000000;
  Unsigned16x result = word < 0x38800000u + zero ? subnormal : normal;
  result = word >= 0x477ff000u + zero ? zero + 0x7c00 : result;
  result = word > 0x7f800000u + zero ? 0x7e00 | ((word >> 13) & 0x3ff) : result;
  return __builtin_convertvector(result | (((Unsigned16x)value >> 16) & 0x8000),
                                 Word16x);
#endif
}

template <typename T> SHARDC_INLINE T largestLane(Vector<T> value) {
  T result = value[0];
  for (int lane = 1; lane < lanes<T>; ++lane)
    result = value[lane] > result ? value[lane] : result;
  return result;
}
/// Pairwise: ((0 + n/2) + ...), one fixed tree.
template <typename V, typename T, int count>
SHARDC_INLINE T sumOfLanes(V value) {
  T parts[count];
  __builtin_memcpy(parts, &value, sizeof(parts));
  for (int width = count / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane)
      parts[lane] += parts[lane + width];
  return parts[0];
}

/// exp(x) for x <= 1, within 2 units in the last place; 0 below the smallest
/// normal number, NaN for NaN. x = n ln 2 + r, |r| <= ln 2 / 2; a polynomial in
/// r, then n goes into the exponent. Adding 1.5 * 2^(mantissa bits) rounds to
/// an integer and leaves it in the low bits. Coefficients: float from Cephes'
/// expf (Moshier), double the Taylor series, whose 14th term is below 2^-57.
SHARDC_INLINE Float16x exponential(Float16x x) {
  using V = Float16x;
  const float lowest = -87.33654f;
  V clamped = x < lowest ? V{} + lowest : x;
  V shifted = multiplyAdd<float>(clamped, V{} + 1.44269504088896341f,
                                 V{} + 12582912.0f);
  V n = shifted - 12582912.0f;
  V r = multiplyAdd<float>(n, V{} - 0.693359375f, clamped);
  r = multiplyAdd<float>(n, V{} + 2.12194440e-4f, r);
  V p = V{} + 1.9875691500e-4f;
  p = multiplyAdd<float>(p, r, V{} + 1.3981999507e-3f);
  p = multiplyAdd<float>(p, r, V{} + 8.3334519073e-3f);
  p = multiplyAdd<float>(p, r, V{} + 4.1665795894e-2f);
  p = multiplyAdd<float>(p, r, V{} + 1.6666665459e-1f);
  p = multiplyAdd<float>(p, r, V{} + 5.0000001201e-1f);
  p = multiplyAdd<float>(p, r * r, r) + 1.0f;
  Int16x power = ((Int16x)shifted << 23) + 0x3f800000;
  return x < lowest ? V{} : p * (V)power;
}
SHARDC_INLINE Double8x exponential(Double8x x) {
  using V = Double8x;
  const double lowest = -708.3964185322641;
  V clamped = x < lowest ? V{} + lowest : x;
  V shifted = multiplyAdd<double>(clamped, V{} + 1.4426950408889634,
                                  V{} + 6755399441055744.0);
  V n = shifted - 6755399441055744.0;
  V r = multiplyAdd<double>(n, V{} - 6.93145751953125e-1, clamped);
  r = multiplyAdd<double>(n, V{} - 1.42860682030941723212e-6, r);
  V p = V{} + 1.6059043836821613e-10; // 1 / 13!
  p = multiplyAdd<double>(p, r, V{} + 2.0876756987868099e-9);
  p = multiplyAdd<double>(p, r, V{} + 2.5052108385441720e-8);
  p = multiplyAdd<double>(p, r, V{} + 2.7557319223985888e-7);
  p = multiplyAdd<double>(p, r, V{} + 2.7557319223985893e-6);
  p = multiplyAdd<double>(p, r, V{} + 2.4801587301587302e-5);
  p = multiplyAdd<double>(p, r, V{} + 1.9841269841269841e-4);
  p = multiplyAdd<double>(p, r, V{} + 1.3888888888888889e-3);
  p = multiplyAdd<double>(p, r, V{} + 8.3333333333333332e-3);
  p = multiplyAdd<double>(p, r, V{} + 4.1666666666666664e-2);
  p = multiplyAdd<double>(p, r, V{} + 1.6666666666666666e-1);
  p = multiplyAdd<double>(p, r, V{} + 0.5);
  p = multiplyAdd<double>(p, r * r, r) + 1.0;
  Int8x power = ((Int8x)shifted << 52) + 0x3ff0000000000000;
  return x < lowest ? V{} : p * (V)power;
}

/// tanh(x), within 3 units in the last place: below 0.625 a function of x^2
/// beside x, from Cephes (Moshier), above it (1 - e) / (1 + e) with
/// e = exp(-2|x|).
SHARDC_INLINE Float16x hyperbolicTangent(Float16x x) {
  using V = Float16x;
  V size = x < 0 ? -x : x, square = x * x;
  V p = V{} - 5.70498872745e-3f;
  p = multiplyAdd<float>(p, square, V{} + 2.06390887954e-2f);
  p = multiplyAdd<float>(p, square, V{} - 5.37397155531e-2f);
  p = multiplyAdd<float>(p, square, V{} + 1.33314422036e-1f);
  p = multiplyAdd<float>(p, square, V{} - 3.33332819422e-1f);
  V small = multiplyAdd<float>(p, x * square, x);
  V e = exponential(-2 * size), large = (1 - e) / (1 + e);
  return size < 0.625f ? small : x < 0 ? -large : large;
}
SHARDC_INLINE Double8x hyperbolicTangent(Double8x x) {
  using V = Double8x;
  V size = x < 0 ? -x : x, square = x * x;
  V p = V{} - 9.64399179425052238628e-1;
  p = multiplyAdd<double>(p, square, V{} - 9.92877231001918586564e1);
  p = multiplyAdd<double>(p, square, V{} - 1.61468768441708447952e3);
  V q = square + 1.12811678491632931402e2;
  q = multiplyAdd<double>(q, square, V{} + 2.23548839060100448583e3);
  q = multiplyAdd<double>(q, square, V{} + 4.84406305325125486048e3);
  V small = multiplyAdd<double>(p / q, x * square, x);
  V e = exponential(-2 * size), large = (1 - e) / (1 + e);
  return size < 0.625 ? small : x < 0 ? -large : large;
}

/// Calls body(i, n) for runs of `lanes` elements, and once for what is left.
template <typename T, typename Body>
SHARDC_INLINE void forLanes(int64_t count, Body body) {
  int64_t i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>)
    body(i, lanes<T>);
  if (i < count)
    body(i, count - i);
}
template <typename T>
SHARDC_INLINE Vector<T> loadUpTo(const T *from, int64_t n, T rest = 0) {
  return n == lanes<T> ? load(from) : loadPart(from, n, rest);
}
template <typename T>
SHARDC_INLINE void storeUpTo(T *to, Vector<T> value, int64_t n) {
  if (n == lanes<T>)
    store(to, value);
  else
    storePart(to, value, n);
}

} // namespace

#endif

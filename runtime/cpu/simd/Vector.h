// Vectors of 64 bytes for Kernels.cpp; the compiler splits them where registers
// are narrower, so that lanes, and with them the order of sums, are the same on
// every processor. Include from Kernels.cpp only: its flags differ from the
// rest.
#ifndef SHARDC_RUNTIME_CPU_SIMD_VECTOR_H
#define SHARDC_RUNTIME_CPU_SIMD_VECTOR_H

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

} // namespace

#endif

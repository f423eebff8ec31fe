// The elementary functions of kernels beside the C library's, in units of the
// last place, and special values, which are C's.
#include "runtime/cuda/kernels/InverseFunctions.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace shardc::runtime;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// |found - wanted| over the distance of numbers of T around `wanted`.
template <typename T> double unitsOff(T found, long double wanted) {
  T near = static_cast<T>(wanted);
  if (std::isnan(near) || std::isinf(near))
    return std::isnan(near) == std::isnan(found) &&
                   (std::isnan(near) || near == found)
               ? 0
               : inf;
  T size = std::fabs(near);
  long double unit =
      static_cast<long double>(std::nextafter(size, T(inf))) - size;
  return static_cast<double>(std::fabs(found - wanted) / unit);
}

/// Numbers of all sizes, and some within [-8, 8].
template <typename T> std::vector<T> numbers(int count, double most = 0) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> near(-8, 8), exponent(-60, 60);
  std::vector<T> made;
  for (int i = 0; i < count; ++i) {
    double number = near(random);
    if (i % 2)
      number = std::ldexp(number, int(exponent(random)));
    if (most > 0)
      number = std::fmod(number, most);
    made.push_back(static_cast<T>(number));
  }
  for (double special :
       {0.0, -0.0, 1.0, -1.0, inf, -inf, double(NAN), 0.5, -0.5, 1e-300, 5e-324,
        1.5, 709.5, -745.0, 88.7, -104.0})
    made.push_back(static_cast<T>(special));
  return made;
}

template <typename T>
double worst(const std::function<T(T)> &found,
             long double (*wanted)(long double), double most = 0) {
  double worst = 0;
  T at = 0;
  for (T x : numbers<T>(40000, most))
    if (double off = unitsOff(found(x), wanted(x)); off > worst) {
      worst = off;
      at = x;
    }
  ::testing::Test::RecordProperty("worst", std::to_string(worst));
  if (worst > 4)
    ADD_FAILURE() << worst << " units off at " << at << ": " << found(at);
  return worst;
}

#define SHARDC_WORST(function, name, bound, ...)                               \
  EXPECT_LE(worst<double>([](double x) { return cuda::function(x); },          \
                          ::name##l __VA_OPT__(, ) __VA_ARGS__),               \
            bound);                                                            \
  EXPECT_LE(worst<float>([](float x) { return float(cuda::function(x)); },     \
                         ::name##l __VA_OPT__(, ) __VA_ARGS__),                \
            bound)

TEST(Functions, ExponentialMinusOne) {
  SHARDC_WORST(exponentialMinusOne, expm1, 2);
}
TEST(Functions, Logarithm) { SHARDC_WORST(logarithm, log, 1); }
TEST(Functions, LogarithmOfOnePlus) {
  SHARDC_WORST(logarithmOfOnePlus, log1p, 2);
}
TEST(Functions, HyperbolicTangent) { SHARDC_WORST(hyperbolicTangent, tanh, 3); }
TEST(Functions, ErrorFunction) { SHARDC_WORST(errorFunction, erf, 2); }
TEST(Functions, Sine) { SHARDC_WORST(sine, sin, 1); }
TEST(Functions, Cosine) { SHARDC_WORST(cosine, cos, 1); }

TEST(Functions, InverseTangent) { SHARDC_WORST(inverseTangent, atan, 2); }
TEST(Functions, InverseSine) {
  SHARDC_WORST(inverseSine, asin, 4, 1.0);
  SHARDC_WORST(inverseSine, asin, 4);
}
TEST(Functions, InverseCosine) {
  SHARDC_WORST(inverseCosine, acos, 4, 1.0);
  SHARDC_WORST(inverseCosine, acos, 4);
}
TEST(Functions, InverseHyperbolicSine) {
  SHARDC_WORST(inverseHyperbolicSine, asinh, 3);
}
TEST(Functions, InverseHyperbolicCosine) {
  SHARDC_WORST(inverseHyperbolicCosine, acosh, 3);
}
TEST(Functions, InverseHyperbolicTangent) {
  SHARDC_WORST(inverseHyperbolicTangent, atanh, 3, 1.0);
  SHARDC_WORST(inverseHyperbolicTangent, atanh, 3);
}

TEST(Functions, AnglesOfAnySize) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 40000; ++i) {
    // x87's own reduction ends at 2^63, glibc's long double one does not.
    double x =
        std::ldexp(1 + double(random() >> 11) * 0x1p-53, int(random() % 1024));
    EXPECT_LE(unitsOff(cuda::sine(x), sinl(x)), 1) << x;
    EXPECT_LE(unitsOff(cuda::cosine(-x), cosl(x)), 1) << x;
  }
  // Multiples of a quarter of a turn as near as float64 has them.
  for (double x : {M_PI, 2 * M_PI, M_PI_2, 0x1.6ac5b262ca1ffp+849})
    EXPECT_LE(unitsOff(cuda::sine(x), sinl(x)), 1) << x;
  EXPECT_LE(unitsOff(cuda::cosine(0x1.6ac5b262ca1ffp+849),
                     cosl(0x1.6ac5b262ca1ffp+849)),
            1);
}

TEST(Functions, Power) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-300, 300), near(-4, 4);
  for (int i = 0; i < 40000; ++i) {
    double x = std::exp2(i % 2 ? near(random) : exponent(random));
    double y = i % 3 ? near(random) : exponent(random);
    EXPECT_LE(unitsOff(cuda::power(x, y), powl(x, y)), 2) << x << " " << y;
    double whole = std::rint(near(random) * 3);
    EXPECT_LE(unitsOff(cuda::power(-x, whole), powl(-x, whole)), 2)
        << -x << " " << whole;
  }
  std::vector<double> special = {
      0.0, -0.0, 1,    -1,    inf,    -inf,   NAN,    0.5,        2,   3,
      -3,  -2,   -0.5, 1e300, 1e-300, 5e-324, 0x1p53, 0x1p53 + 2, -7.5};
  for (double x : special)
    for (double y : special) {
      double found = cuda::power(x, y), wanted = std::pow(x, y);
      EXPECT_LE(unitsOff(found, wanted), 2) << x << " " << y << ": " << found;
      if (wanted == 0)
        EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << x << " " << y;
    }
}

TEST(Functions, RemainderIsExact) {
  std::vector<double> all = numbers<double>(300);
  for (double each : {1e308, 1e-308, 3e-310, 7e-323, 3.0, 0x1p-1022})
    all.push_back(each);
  for (double x : all)
    for (double y : all) {
      double found = cuda::remainder(x, y), wanted = std::fmod(x, y);
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(found)) << x << " " << y;
      else {
        EXPECT_EQ(found, wanted) << x << " " << y;
        EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << x << " " << y;
      }
    }
}

} // namespace

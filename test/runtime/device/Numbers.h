// Elements of tensors as numbers, and what a result worked out in float64 may
// be off by. Nothing here is the runtime's: types are rounded to by arithmetic.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_NUMBERS_H
#define SHARDC_TEST_RUNTIME_DEVICE_NUMBERS_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace shardc::runtime {

constexpr plan::DType floatTypes[] = {plan::FLOAT64, plan::FLOAT32,
                                      plan::BFLOAT16, plan::FLOAT16};

/// Bytes of an element.
int64_t sizeOf(plan::DType dtype);
/// Whether elements are bfloat16 or float16.
bool isNarrow(plan::DType dtype);
/// What sums of elements are formed in: float64, or float32.
plan::DType sumType(plan::DType dtype);
/// The relative error of one rounding: 2^-53, 2^-24, 2^-11 or 2^-8.
double roundoff(plan::DType dtype);
/// Of an operation on elements of this type: that of sumType().
double sumRoundoff(plan::DType dtype);
/// To nearest even; floats beyond the largest become infinite. Integers as they
/// are.
double rounded(double value, plan::DType dtype);
void encode(double value, plan::DType dtype, std::byte *to);
double decode(const std::byte *from, plan::DType dtype);

int64_t countOf(const std::vector<int64_t> &shape);
/// Calls visit(index, position) for all elements, in row-major order.
void forIndices(
    const std::vector<int64_t> &shape,
    const std::function<void(const std::vector<int64_t> &, int64_t)> &visit);

/// A tensor's elements in row-major order; each is one that the type has.
struct Numbers {
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape;
  std::vector<double> values;

  Numbers() = default;
  Numbers(plan::DType dtype, std::vector<int64_t> shape, double value = 0);
  Numbers(plan::DType dtype, std::vector<int64_t> shape,
          std::vector<double> values);
  /// Uniform in [-scale, scale], rounded.
  static Numbers random(plan::DType dtype, std::vector<int64_t> shape,
                        unsigned seed, double scale = 1);
  /// Integers uniform in [least, most].
  static Numbers integers(plan::DType dtype, std::vector<int64_t> shape,
                          unsigned seed, int64_t least, int64_t most);

  double &operator[](int64_t position) { return values[position]; }
  double operator[](int64_t position) const { return values[position]; }
  int64_t elements() const { return int64_t(values.size()); }
  /// Row-major.
  double at(std::initializer_list<int64_t> index) const;
};

/// A result in float64, and by how much each element may be off before it is
/// rounded to its type; below 0: not at all.
struct Expected {
  std::vector<double> values, slack;

  explicit Expected(int64_t elements = 0) : values(elements), slack(elements) {}
  /// Exactly these.
  explicit Expected(std::vector<double> exact)
      : values(std::move(exact)), slack(values.size(), -1) {}
  /// Adds a term to element `at`, of size |term| and perhaps off by `error`.
  void add(int64_t at, double term, double error = 0) {
    values[at] += term;
    slack[at] += error;
  }
};

/// Where `got` is not as expected in elements of `dtype`: the first element's
/// position and both numbers; empty where all are.
std::string mismatch(const std::vector<double> &got, const Expected &expected,
                     plan::DType dtype);

} // namespace shardc::runtime

#endif

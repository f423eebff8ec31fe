// Tensors that own their elements, with strides of choice, for tests of the
// kernels.
#ifndef SHARDC_TEST_RUNTIME_TESTTENSOR_H
#define SHARDC_TEST_RUNTIME_TESTTENSOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Tensor.h"
#include "runtime/cpu/HalfRows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace shardc::runtime {

using cpu::ComputeOf;
using cpu::isHalfType;

template <typename T> constexpr plan::DType dtypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return plan::FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return plan::FLOAT64;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return plan::BFLOAT16;
  else if constexpr (std::is_same_v<T, Float16>)
    return plan::FLOAT16;
  else if constexpr (std::is_same_v<T, int64_t>)
    return plan::INT64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return plan::INT32;
  else
    return plan::BOOL;
}

/// A number as an element, and an element's number.
template <typename T> T element(double number) {
  if constexpr (isHalfType<T>) {
    T result;
    convertElements(&number, plan::FLOAT64, &result, dtypeOf<T>(), 1);
    return result;
  } else {
    return T(number);
  }
}
template <typename T> double number(T element) {
  if constexpr (isHalfType<T>) {
    double result;
    convertElements(&element, dtypeOf<T>(), &result, plan::FLOAT64, 1);
    return result;
  } else {
    return double(element);
  }
}

template <typename T> struct TestTensor {
  std::vector<T> storage;
  Tensor view;

  TestTensor() = default;
  explicit TestTensor(std::vector<int64_t> shape, T value = T())
      : TestTensor(shape, rowMajorStrides(shape), value) {}
  TestTensor(std::vector<int64_t> shape, std::vector<int64_t> strides,
             T value = T()) {
    int64_t last = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      last += std::max<int64_t>(0, shape[dim] - 1) * strides[dim];
    storage.assign(last + 1, value);
    view.dtype = dtypeOf<T>();
    view.shape = std::move(shape);
    view.strides = std::move(strides);
    view.data = reinterpret_cast<std::byte *>(storage.data());
  }
  TestTensor(const TestTensor &other) { *this = other; }
  TestTensor &operator=(const TestTensor &other) {
    storage = other.storage;
    view = other.view;
    if (other.view)
      view.data = reinterpret_cast<std::byte *>(storage.data());
    return *this;
  }

  /// Uniform in [-scale, scale].
  static TestTensor random(std::vector<int64_t> shape,
                           std::vector<int64_t> strides, unsigned seed,
                           double scale = 1) {
    TestTensor tensor(std::move(shape), std::move(strides));
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> distribution(-scale, scale);
    for (T &value : tensor.storage)
      value = element<T>(distribution(generator));
    return tensor;
  }
  static TestTensor random(std::vector<int64_t> shape, unsigned seed,
                           double scale = 1) {
    std::vector<int64_t> strides = rowMajorStrides(shape);
    return random(std::move(shape), std::move(strides), seed, scale);
  }

  T &at(std::initializer_list<int64_t> index) {
    int64_t offset = 0, dim = 0;
    for (int64_t i : index)
      offset += (view.shape[dim] == 1 ? 0 : i) * view.strides[dim], ++dim;
    return storage[offset];
  }
  const T &at(std::initializer_list<int64_t> index) const {
    return const_cast<TestTensor *>(this)->at(index);
  }
  /// Element at a row-major position.
  T &operator[](int64_t position) {
    int64_t offset = 0;
    for (int64_t dim = view.rank() - 1; dim >= 0; --dim) {
      offset += position % view.shape[dim] * view.strides[dim];
      position /= view.shape[dim];
    }
    return storage[offset];
  }
  int64_t elements() const { return view.elements(); }
};

/// Largest difference, relative to the largest expected magnitude.
template <typename T>
double deviation(TestTensor<T> &actual, const std::vector<double> &expected) {
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < actual.elements(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    double now = std::fabs(number(actual[i]) - expected[i]);
    difference = std::isnan(now) ? INFINITY : std::max(difference, now);
  }
  return largest == 0 ? difference : difference / largest;
}

template <typename T>
bool sameBits(const TestTensor<T> &a, const TestTensor<T> &b) {
  return a.storage.size() == b.storage.size() &&
         std::memcmp(a.storage.data(), b.storage.data(),
                     a.storage.size() * sizeof(T)) == 0;
}

/// What results may be off by: float and double by what rounding adds up to,
/// 16 bits by the one rounding at the end and little more.
template <typename T> constexpr double tolerance() {
  return std::is_same_v<T, float>      ? 2e-6
         : std::is_same_v<T, BFloat16> ? 0x1.02p-8
         : std::is_same_v<T, Float16>  ? 0x1.02p-11
                                       : 1e-14;
}

} // namespace shardc::runtime

#endif

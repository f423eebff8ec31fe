// Tensors of a type that is known when a test runs.
#ifndef SHARDC_TEST_RUNTIME_ANYTENSOR_H
#define SHARDC_TEST_RUNTIME_ANYTENSOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Tensor.h"

#include <cmath>
#include <vector>

namespace shardc::runtime {

/// Values of any float type, as doubles.
struct AnyTensor {
  AnyTensor(plan::DType dtype, const std::vector<double> &values)
      : bytes(values.size() * elementSize(dtype)) {
    convertElements(values.data(), plan::FLOAT64, bytes.data(), dtype,
                    values.size());
    view.data = bytes.data();
    view.dtype = dtype;
    view.shape = {int64_t(values.size())};
    view.strides = {1};
  }
  std::vector<double> values() const {
    std::vector<double> values(view.elements());
    convertElements(bytes.data(), view.dtype, values.data(), plan::FLOAT64,
                    values.size());
    return values;
  }
  std::vector<std::byte> bytes;
  Tensor view;
};

inline constexpr plan::DType floats[] = {plan::FLOAT32, plan::FLOAT64,
                                         plan::BFLOAT16, plan::FLOAT16};
inline std::vector<double> waves(int64_t count, double frequency,
                                 double shift) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = std::sin(frequency * double(i) + shift);
  return values;
}

} // namespace shardc::runtime

#endif

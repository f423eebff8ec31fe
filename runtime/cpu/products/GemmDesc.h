// The description of a matrix product by addresses, element types and strides:
// what HalfGemm.h and TiledGemm.h compute.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_GEMMDESC_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_GEMMDESC_H

#include "runtime/base/DType.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardc::runtime::cpu {

/// c = alpha op(a) op(b) (+ bias) (+ c) as in Gemm.h; op(a) is [m, k], op(b)
/// [k, n], c [m, n]. The operands a, b, c and bias are float32, bfloat16 or
/// float16, each on its own. Strides are in elements.
struct GemmDesc {
  struct Matrix {
    std::byte *data = nullptr;
    plan::DType dtype = plan::INVALID;
    int64_t stride = 0;
    bool transpose = false;

    /// The address of element [row, column] of op(matrix).
    std::byte *at(int64_t row, int64_t column) const {
      if (transpose)
        std::swap(row, column);
      return data +
             (row * stride + column) * static_cast<int64_t>(elementSize(dtype));
    }
    /// The matrix that lies `elements` elements behind this one.
    Matrix moved(int64_t elements) const {
      Matrix result = *this;
      result.data += elements * static_cast<int64_t>(elementSize(dtype));
      return result;
    }
  };
  int64_t m, n, k;
  Matrix a, b, c;
  const std::byte *bias = nullptr; // [n]; not together with accumulate
  plan::DType biasDtype = plan::INVALID;
  bool accumulate = false;
  float alpha = 1; // a factor of the product
};

} // namespace shardc::runtime::cpu

#endif

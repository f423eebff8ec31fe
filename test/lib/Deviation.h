// How far the results of kernels are from their reference.
#ifndef SHARDC_TEST_LIB_DEVIATION_H
#define SHARDC_TEST_LIB_DEVIATION_H

#include "frontend/nn/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::test {

struct Deviation {
  /// Relative to the largest value; infinity where one is NaN or infinite and
  /// the other is not equal.
  double largest = 0;
  int64_t elements = 0; // that are not equal
};

Deviation deviation(const nn::HostTensor &got, const nn::HostTensor &expected);

/// What results may deviate by. An op computes in float32 (float64) where its
/// reference computes in float64; a 16-bit result of both is rounded once, to
/// neighbouring numbers at most, and seldom to different ones.
Deviation boundOf(mlir::func::FuncOp function, const nn::HostTensor &result);

} // namespace shardc::test

#endif

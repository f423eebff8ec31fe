// Runs kernel bodies (linalg on tensors) on host tensors, element by element:
// what a kernel means, without code generation.
#ifndef SHARDC_TEST_LIB_LINALGINTERPRETER_H
#define SHARDC_TEST_LIB_LINALGINTERPRETER_H

#include "frontend/nn/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace shardc::test {

/// What `kernel` returns for `inputs`; none, with an error, for an op that is
/// not known. tensor.empty holds NaN, so that what is read before it is written
/// shows.
std::optional<llvm::SmallVector<nn::HostTensor>>
runKernel(mlir::func::FuncOp kernel, llvm::ArrayRef<nn::HostTensor> inputs);

} // namespace shardc::test

#endif

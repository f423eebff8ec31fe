// Runs functions of nn ops on host tensors, op by op, by their reference
// evaluation.
#ifndef SHARDC_TEST_LIB_NNINTERPRETER_H
#define SHARDC_TEST_LIB_NNINTERPRETER_H

#include "frontend/nn/HostTensor.h"
#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace shardc::test {

/// The results of one op; none, with an error at the op, where it has no
/// reference evaluation or its operands are outside its domain (an index out of
/// range, an integer divided by zero). nn.constant is evaluated too.
std::optional<llvm::SmallVector<nn::HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<nn::HostTensor> operands);

/// Gives a parameter's values.
using ParameterValues = llvm::function_ref<nn::HostTensor(nn::GetParameterOp)>;

/// What a straight-line function of nn ops returns for `inputs` (one per
/// argument, of its type); none, with an error, where an op cannot be
/// evaluated. A value is dropped after its last use.
std::optional<llvm::SmallVector<nn::HostTensor>>
evaluateFunction(mlir::func::FuncOp function,
                 llvm::ArrayRef<nn::HostTensor> inputs,
                 ParameterValues parameters = nullptr);

} // namespace shardc::test

#endif

// Runs functions of nn ops on host tensors, op by op, by their reference
// evaluation.
#ifndef SHARDC_FRONTEND_NN_INTERPRETER_H
#define SHARDC_FRONTEND_NN_INTERPRETER_H

#include "frontend/nn/HostTensor.h"
#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace shardc::nn {

/// The results of one op; none, with an error at the op, where it has no
/// reference evaluation or its operands are outside its domain (an index out of
/// range, an integer divided by zero). nn.constant is evaluated too.
std::optional<llvm::SmallVector<HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

/// Gives a parameter's values.
using ParameterValues = llvm::function_ref<HostTensor(GetParameterOp)>;

/// What a straight-line function of nn ops returns for `inputs` (one per
/// argument, of its type); none, with an error, where an op cannot be
/// evaluated. A value is dropped after its last use.
std::optional<llvm::SmallVector<HostTensor>>
evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs,
                 ParameterValues parameters = nullptr);

} // namespace shardc::nn

#endif

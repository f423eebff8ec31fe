// Evaluation of ops and straight-line functions on host tensors.
#include "NNInterpreter.h"

using namespace mlir;

namespace shardc::test {

std::optional<SmallVector<nn::HostTensor>>
evaluateOp(Operation *op, ArrayRef<nn::HostTensor> operands) {
  SmallVector<nn::HostTensor> results;
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    results.push_back(nn::HostTensor::fromAttribute(constant.getValue()));
    if (!results.back()) {
      op->emitOpError("expects dense values");
      return std::nullopt;
    }
    return results;
  }
  auto reference = dyn_cast<nn::ReferenceEval>(op);
  if (!reference) {
    op->emitError("'") << op->getName() << "' has no reference evaluation";
    return std::nullopt;
  }
  if (failed(reference.evaluate(operands, results)))
    return std::nullopt;
  return results;
}

std::optional<SmallVector<nn::HostTensor>>
evaluateFunction(func::FuncOp function, ArrayRef<nn::HostTensor> inputs,
                 ParameterValues parameters) {
  assert(inputs.size() == function.getNumArguments() &&
         "one tensor per argument");
  llvm::DenseMap<Value, nn::HostTensor> values;
  llvm::DenseMap<Value, int64_t> usesLeft;
  auto define = [&](Value value, nn::HostTensor tensor) {
    const int64_t uses = std::distance(value.use_begin(), value.use_end());
    if (uses == 0)
      return;
    usesLeft[value] = uses;
    values[value] = std::move(tensor);
  };
  for (auto [argument, input] :
       llvm::zip_equal(function.getArguments(), inputs))
    define(argument, input);
  for (Operation &op : function.getBody().front()) {
    SmallVector<nn::HostTensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    for (Value operand : op.getOperands())
      if (--usesLeft[operand] == 0)
        values.erase(operand);
    if (isa<func::ReturnOp>(op))
      return operands;
    if (auto get = dyn_cast<nn::GetParameterOp>(op); get && parameters) {
      define(get, parameters(get));
      continue;
    }
    std::optional<SmallVector<nn::HostTensor>> results =
        evaluateOp(&op, operands);
    if (!results)
      return std::nullopt;
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *results))
      define(result, tensor);
  }
  llvm_unreachable("a function ends in a return");
}

} // namespace shardc::test

#include "frontend/onnx/decode/Branches.h"

#include "frontend/onnx/decode/Decision.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

FailureOr<std::unique_ptr<ControlFlow>>
Branches::of(const NodeContext &context) {
  if (context.inputCount() != 1)
    return context.error("expects one input");
  auto result = std::make_unique<Branches>();
  if (context.input(0).isConstant()) {
    FailureOr<double> known = context.constantFloat(0, "its condition");
    if (failed(known))
      return failure();
    result->taken = *known != 0;
  } else {
    FailureOr<Operand> decision = decisionOf(context, context.input(0));
    if (failed(decision))
      return failure();
    result->condition = *decision;
  }
  for (int which : {0, 1}) {
    const auto *branch =
        context.attribute(which ? "then_branch" : "else_branch");
    if (!branch || !branch->has_g())
      return context.error("expects branches");
    if (branch->g().output_size() != context.node.proto->output_size())
      return context.error("expects branches with as many outputs as the node");
    result->branches[which] = {&branch->g(), which};
  }
  return std::unique_ptr<ControlFlow>(std::move(result));
}

LogicalResult Branches::end(const NodeContext &, ArrayRef<Operand> given) {
  outputs[taken].assign(given.begin(), given.end());
  if (condition && taken)
    taken = false;
  else
    ended = true;
  return success();
}

FailureOr<SmallVector<Operand>>
Branches::results(const NodeContext &context) const {
  if (!condition)
    return outputs[taken];
  SmallVector<Operand> results;
  for (auto [then, otherwise] : llvm::zip(outputs[1], outputs[0])) {
    FailureOr<Operand> result =
        chosen(context, "its output " + std::to_string(results.size()),
               condition, then, otherwise);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

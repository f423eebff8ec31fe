// Two ways to say that a norm is by the batch's statistics.
#include "frontend/onnx/graph/BatchNorm.h"

#include "frontend/onnx/graph/FxCall.h"

namespace shardc::onnx {

std::optional<bool> isByBatch(const ::onnx::NodeProto &node) {
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "training_mode" && attribute.i() != 0)
      return true;
  // Before opset 14 these outputs are there in training alone.
  for (int i = 1; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      return true;
  FxCall call = fxCall(node);
  if (!call.target.contains("batch_norm"))
    return std::nullopt;
  // Without running statistics they are computed by nodes before it.
  if (call.target.contains("no_training") || call.target.contains("no_stats"))
    return false;
  if (call.arguments.size() > 5)
    return call.arguments[5] == "True";
  return std::nullopt;
}

bool isRunningStatistic(const ::onnx::NodeProto &node, int input) {
  return (input == 3 || input == 4) && node.op_type() == "BatchNormalization" &&
         isByBatch(node).value_or(false);
}

} // namespace shardc::onnx

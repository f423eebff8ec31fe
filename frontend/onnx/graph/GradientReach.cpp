// Reverse reachability over the flat graph.
#include "frontend/onnx/graph/GradientReach.h"
#include "frontend/onnx/graph/NeededNodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;
using ::onnx::TensorProto;

namespace shardc::onnx {
namespace {

bool isFloat(int64_t dtype) {
  return dtype == TensorProto::FLOAT || dtype == TensorProto::DOUBLE ||
         dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}

} // namespace

bool saysHow(const ::onnx::NodeProto &node, int input) {
  if (node.op_type() == "SoftmaxCrossEntropyLoss" ||
      node.op_type() == "NegativeLogLikelihoodLoss")
    return input == 2; // weights of classes, which a mean divides by
  return input >= 1 && llvm::StringSwitch<bool>(node.op_type())
                           .Cases({"CastLike", "Dropout", "Resize", "Upsample",
                                   "Reshape", "Expand", "Tile", "TopK"},
                                  true)
                           .Default(false);
}

bool handsGradientOn(const ::onnx::NodeProto &node, int input) {
  StringRef op = node.op_type();
  if (op == "Cast") {
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "to")
        return isFloat(attribute.i());
    return false;
  }
  if (op == "OneHot") // its values, off and on
    return input == 2;
  if (op == "Pad") // what is padded, and with what
    return input == 0 || input == 2;
  // The first input without a gradient, of those whose inputs differ.
  constexpr int none = INT_MAX;
  if (saysHow(node, input))
    return false;
  int first =
      llvm::StringSwitch<int>(op)
          // Results that are no floats, or whose values do not depend on it.
          .Cases({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"},
                 0)
          .Cases({"Not", "And", "Or", "Xor", "IsNaN", "IsInf"}, 0)
          .Cases({"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}, 0)
          .Cases({"ConstantOfShape", "RandomNormalLike", "RandomUniformLike",
                  "EyeLike", "Bernoulli", "Multinomial", "Range"},
                 0)
          // Targets, and weights of classes.
          .Cases({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}, 1)
          .Case("BatchNormalization", 3) // running statistics
          .Default(none);
  return input < first;
}

llvm::StringSet<> gradientReach(const ::onnx::GraphProto &graph,
                                llvm::ArrayRef<Node> nodes) {
  llvm::StringSet<> reached;
  for (const auto &output : graph.output())
    reached.insert(output.name());
  // Nodes stand in the order of evaluation.
  for (const Node &node : llvm::reverse(nodes)) {
    const ::onnx::NodeProto &proto = *node.proto;
    if (llvm::none_of(proto.output(), [&](const std::string &output) {
          return reached.contains(output);
        }))
      continue;
    for (auto [position, input] : llvm::enumerate(proto.input()))
      if (handsGradientOn(proto, int(position)))
        reached.insert(input);
    for (const auto &attribute : proto.attribute())
      if (attribute.has_g())
        addReads(attribute.g(), reached);
  }
  return reached;
}

} // namespace shardc::onnx

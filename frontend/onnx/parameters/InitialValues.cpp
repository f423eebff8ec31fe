// Guesses by names and uses.
#include "frontend/onnx/parameters/InitialValues.h"
#include "frontend/onnx/parameters/ParameterNames.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using llvm::StringRef;

namespace shardc::onnx {
namespace {

std::string uniform(double bound) {
  return llvm::formatv("uniform:-{0},{0}", llvm::formatv("{0:f9}", bound).str())
      .str();
}

/// What normalizations, and those of com.microsoft that are fused with what is
/// before them, scale begins as 1, what they add as 0; empty for other ops.
std::string ofNormalization(StringRef op, int input) {
  int scale =
      llvm::StringSwitch<int>(op)
          .Cases({"LayerNormalization", "RMSNormalization",
                  "SimplifiedLayerNormalization", "BatchNormalization",
                  "InstanceNormalization", "GroupNormalization"},
                 1)
          .Cases({"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"},
                 2)
          .Case("EmbedLayerNormalization", 5)
          .Default(0);
  if (scale == 0 || input < scale)
    return {};
  const bool isVariance = op == "BatchNormalization" && input == 4;
  return input == scale || isVariance ? "constant:1" : "constant:0";
}

bool isView(StringRef op) {
  return op == "Reshape" || op == "Unsqueeze" || op == "Squeeze";
}

bool isVector(const Parameter &parameter) {
  return llvm::count_if(parameter.dims, [](int64_t dim) { return dim != 1; }) <=
         1;
}

class Guess {
public:
  Guess(llvm::ArrayRef<Parameter> parameters, llvm::ArrayRef<Node> nodes,
        const ModelFile &file)
      : nodes(nodes), file(file) {
    for (auto [index, node] : llvm::enumerate(nodes)) {
      for (const std::string &output : node.proto->output())
        producer[output] = index;
      for (auto [position, input] : llvm::enumerate(node.proto->input()))
        firstReader.try_emplace(input, index, position);
    }
    for (const Parameter &parameter : parameters)
      byName[parameter.name] = &parameter;
  }

  std::string of(const Parameter &parameter) const {
    StringRef last = lastComponent(parameter.name);
    if (std::string value = ofMultiheadAttention(parameter, last);
        !value.empty())
      return value;
    // The earliest use tells: an embedding that is also the head is an
    // embedding.
    std::pair<int, int> use = {INT_MAX, 0};
    for (const Binding &binding : parameter.bindings)
      if (!binding.uses.empty())
        use = std::min(use, binding.uses.front());
    if (use.first == INT_MAX)
      return "constant:0";
    const ::onnx::NodeProto &node = *nodes[use.first].proto;
    StringRef op = node.op_type();
    if (op ==
        "Identity") // another name of the parameter: look at who reads that
      return ofAliasUse(parameter);
    return ofUse(parameter, node, use.second);
  }

private:
  std::string ofUse(const Parameter &parameter, const ::onnx::NodeProto &node,
                    int input) const {
    StringRef op = node.op_type();
    size_t rank = parameter.dims.size();
    if (op == "Gather" && input == 0 && rank == 2)
      return "normal:0,1";
    if (op == "Cast" && input == 0)
      if (auto reader = firstReader.find(node.output(0));
          reader != firstReader.end())
        return ofUse(parameter, *nodes[reader->second.first].proto,
                     reader->second.second);
    op.consume_front("Fused"); // of com.microsoft
    if (op == "MatMul" || (op == "Gemm" && input <= 1) ||
        (op == "Transpose" && rank == 2))
      return uniform(1 /
                     std::sqrt(std::max<double>(1, fanIn(parameter, node))));
    if (std::string value = ofNormalization(op, input); !value.empty())
      return value;
    if (op == "PRelu" && input == 1)
      return "constant:0.25";
    if (op == "Attention" && input == 1 && rank == 2) // com.microsoft's
      return uniform(1 / std::sqrt(std::max<double>(1, parameter.dims[0])));
    if (isView(op) && input == 0 && isVector(parameter))
      if (auto reader = firstReader.find(node.output(0));
          reader != firstReader.end())
        return ofUse(parameter, *nodes[reader->second.first].proto,
                     reader->second.second);
    if ((op == "Conv" || op == "ConvTranspose") && rank >= 2) {
      double fan = 1;
      for (int64_t dim : llvm::drop_begin(parameter.dims))
        fan *= dim;
      return uniform(1 / std::sqrt(std::max(1.0, fan)));
    }
    if (op == "Gemm" || op == "Conv" || op == "ConvTranspose" || op == "Add")
      if (double fan = fanInOfProduct(node, input))
        return uniform(1 / std::sqrt(fan));
    if (op == "Mul")
      return "constant:1";
    if (rank >= 2) // tables that are sliced or added, as learned positions are
      return lastComponent(parameter.name) == "weight" ? "normal:0,1"
                                                       : "normal:0,0.02";
    return "constant:0";
  }

  std::string ofAliasUse(const Parameter &parameter) const {
    for (const Binding &binding : parameter.bindings)
      for (auto [node, input] : binding.uses)
        if (nodes[node].proto->op_type() != "Identity")
          return ofUse(parameter, *nodes[node].proto, input);
    return "constant:0";
  }

  /// torch.nn.MultiheadAttention: Xavier for the packed projection, zero
  /// biases.
  std::string ofMultiheadAttention(const Parameter &parameter,
                                   StringRef last) const {
    if (last == "in_proj_weight" && parameter.dims.size() == 2)
      return uniform(
          std::sqrt(6.0 / double(parameter.dims[0] + parameter.dims[1])));
    StringRef scope = parameter.scope;
    bool packed = byName.count((scope + ".in_proj_weight").str());
    if (last == "in_proj_bias" && packed)
      return "constant:0";
    if (last == "bias" && scope.consume_back(".out_proj") &&
        byName.count((scope + ".in_proj_weight").str()))
      return "constant:0";
    return {};
  }

  /// Inputs of the Linear that a 2-d weight belongs to. PyTorch's Linear is
  /// [out, in]; a weight that a product reads as it is stored is [in, out].
  double fanIn(const Parameter &parameter,
               const ::onnx::NodeProto &node) const {
    if (parameter.dims.size() < 2)
      return parameter.dims.empty() ? 1 : parameter.dims[0];
    bool outFirst =
        parameter.bindings[0].transposed || node.op_type() == "Transpose";
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "transB" && attribute.i())
        outFirst = true;
    return parameter.dims[parameter.dims.size() - (outFirst ? 1 : 2)];
  }

  /// Depth of the product whose bias input `input` of `node` is; 0 where it is
  /// none.
  double fanInOfProduct(const ::onnx::NodeProto &node, int input) const;

  llvm::ArrayRef<Node> nodes;
  const ModelFile &file;
  llvm::StringMap<int> producer;
  llvm::StringMap<std::pair<int, int>> firstReader;
  llvm::StringMap<const Parameter *> byName;
};

double Guess::fanInOfProduct(const ::onnx::NodeProto &node, int input) const {
  const ::onnx::NodeProto *product = &node;
  if (node.op_type() == "Add") {
    if (node.input_size() != 2)
      return 0;
    auto entry = producer.find(node.input(1 - std::min(input, 1)));
    if (entry == producer.end())
      return 0;
    product = nodes[entry->second].proto;
  }
  StringRef op = product->op_type();
  bool isConvolution = op == "Conv" || op == "ConvTranspose";
  if ((op != "MatMul" && op != "Gemm" && !isConvolution) ||
      product->input_size() < 2)
    return 0;
  bool transposed = false;
  std::string weight = product->input(1);
  for (const auto &attribute : product->attribute())
    transposed |= attribute.name() == "transB" && attribute.i();
  for (int hops = 0; hops < 4 && !file.find(weight);
       ++hops) { // behind Transpose and Identity
    auto entry = producer.find(weight);
    if (entry == producer.end() ||
        nodes[entry->second].proto->input_size() != 1)
      return 0;
    transposed ^= nodes[entry->second].proto->op_type() == "Transpose";
    weight = nodes[entry->second].proto->input(0);
  }
  const Initializer *initializer = file.find(weight);
  if (!initializer || initializer->dims.size() < 2)
    return 0;
  double fan = initializer->dims[transposed || isConvolution ? 1 : 0];
  if (isConvolution)
    for (int64_t dim : llvm::drop_begin(initializer->dims, 2))
      fan *= dim;
  return fan;
}

} // namespace

void setInitialValues(std::vector<Parameter> &parameters,
                      llvm::ArrayRef<Node> nodes, const ModelFile &file) {
  Guess guess(parameters, nodes, file);
  for (Parameter &parameter : parameters)
    if (parameter.trainable)
      parameter.init = guess.of(parameter);
}

} // namespace shardc::onnx

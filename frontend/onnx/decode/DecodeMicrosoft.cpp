// What onnxruntime's optimizers fuse, of the domain com.microsoft: each is
// expanded to the operators that it was fused from.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include "frontend/onnx/decode/StandardNode.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// Gelu, FastGelu and BiasGelu: input 1 is added first, where there is one.
template <bool isFast> LogicalResult gelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  SmallVector<Operand> terms = {context.input(0)};
  if (context.has(1))
    terms.push_back(context.input(1));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode node(context, "Gelu");
  node.set("approximate", StringRef(isFast ? "tanh" : "none"));
  return setTo(context, node, {*sum});
}

LogicalResult quickGelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  const Operand &x = context.input(0);
  Operand factor =
      emit.scalar(x.elementType(), context.floatAttribute("alpha", 1.702f));
  context.set(
      0, one.result(emit.binary<nn::MulOp>(
             x, emit.unary<nn::SigmoidOp>(emit.binary<nn::MulOp>(x, factor)))));
  return success();
}

LogicalResult fusedMatMul(NodeContext &context) {
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  SmallVector<Operand> factors;
  for (size_t i : {0, 1}) {
    Operand factor = context.input(i);
    if (context.intAttribute(i ? "transBatchB" : "transBatchA", 0))
      return context.error("transBatchA and transBatchB are not supported");
    if (context.intAttribute(i ? "transB" : "transA", 0) && factor.rank() > 1) {
      Shape order = llvm::to_vector(llvm::seq<int64_t>(0, factor.rank()));
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      factor = emit.transpose(factor, order);
    }
    factors.push_back(factor);
  }
  StandardNode node(context, "MatMul");
  FailureOr<SmallVector<Operand>> product = node.decode(factors);
  if (failed(product))
    return failure();
  double alpha = context.floatAttribute("alpha", 1);
  Operand result = product->front();
  if (alpha != 1)
    result = emit.binary<nn::MulOp>(result,
                                    emit.scalar(result.elementType(), alpha));
  context.set(0, one.result(result));
  return success();
}

/// What a product or a convolution was fused with, applied to it. `parameters`:
/// of the activation, in its operator's order.
LogicalResult activate(NodeContext &context, const Operand &value,
                       ArrayRef<double> parameters) {
  StringRef name = context.stringAttribute("activation", "");
  if (name.empty()) {
    context.set(0, value);
    return success();
  }
  if (name == "Clip") { // its bounds are inputs
    StandardNode node(context, name);
    SmallVector<Operand> inputs = {value};
    for (double bound : parameters)
      inputs.push_back(context.emit.scalar(value.elementType(), bound));
    return setTo(context, node, inputs);
  }
  static const std::pair<StringRef, SmallVector<StringRef>> known[] = {
      {"Relu", {}},
      {"Sigmoid", {}},
      {"Tanh", {}},
      {"LeakyRelu", {"alpha"}},
      {"HardSigmoid", {"alpha", "beta"}}};
  auto activation = llvm::find_if(
      known, [&](const auto &entry) { return entry.first == name; });
  if (activation == std::end(known))
    return context.error("activation '" + name +
                         "' is not supported; supported are Relu, Sigmoid, "
                         "Tanh, Clip, LeakyRelu and HardSigmoid");
  StandardNode node(context, name);
  for (auto [attribute, parameter] : llvm::zip(activation->second, parameters))
    node.set(attribute, parameter);
  return setTo(context, node, {value});
}

LogicalResult fusedGemm(NodeContext &context) {
  StandardNode node(context, "Gemm");
  node.take({"alpha", "beta", "transA", "transB"});
  FailureOr<SmallVector<Operand>> product = node.decode(context.allInputs());
  if (failed(product))
    return failure();
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta"})
    if (context.attribute(name))
      parameters.push_back(context.floatAttribute(name, 0));
  return activate(context, product->front(), parameters);
}

/// Input 3 is added before the activation.
LogicalResult fusedConv(NodeContext &context) {
  StandardNode node(context, "Conv");
  node.take(
      {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  SmallVector<Operand> inputs = {context.input(0), context.input(1)};
  if (context.has(2))
    inputs.push_back(context.input(2));
  FailureOr<SmallVector<Operand>> result = node.decode(inputs);
  if (failed(result))
    return failure();
  SmallVector<Operand> terms = {result->front()};
  if (context.has(3))
    terms.push_back(context.input(3));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  SmallVector<double> parameters;
  if (const auto *numbers = context.attribute("activation_params"))
    parameters.append(numbers->floats().begin(), numbers->floats().end());
  return activate(context, *sum, parameters);
}

/// A norm of a sum, which is output 3. isSimple: the root of the mean square,
/// without a beta.
template <bool isSimple> LogicalResult skipNorm(NodeContext &context) {
  const size_t bias = isSimple ? 3 : 4;
  SmallVector<Operand> terms = {context.input(0), context.input(1)};
  if (context.has(bias))
    terms.push_back(context.input(bias));
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode node(context,
                    isSimple ? "RMSNormalization" : "LayerNormalization",
                    isSimple ? 1 : 3);
  node.set("axis", int64_t(-1));
  node.set("epsilon", context.floatAttribute("epsilon", 1e-12f));
  SmallVector<Operand> inputs = {*sum, context.input(2)};
  if (!isSimple && context.has(3))
    inputs.push_back(context.input(3));
  for (int i : {1, 2})
    if (!isSimple && !context.wants(i))
      node.omitOutput(i);
  FailureOr<SmallVector<Operand>> results = node.decode(inputs);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (result && context.wants(i))
      context.set(i, result);
  if (context.wants(3))
    context.set(3, *sum);
  return success();
}

LogicalResult simpleNorm(NodeContext &context) {
  StandardNode node(context, "RMSNormalization");
  node.set("axis", context.intAttribute("axis", -1));
  node.set("epsilon", context.floatAttribute("epsilon", 1e-5f));
  return setTo(context, node, context.allInputs());
}

/// The sum of up to three embeddings, normalized; output 1 counts the mask, and
/// output 2 is the sum.
LogicalResult embedNorm(NodeContext &context) {
  const Operand &ids = context.input(0);
  Emitter &emit = context.emit;
  for (size_t i : {2, 3, 5, 6})
    if (!context.has(i))
      return context.error("its input " + Twine(i) + " is missing");
  if (ids.rank() != 2)
    return context.error("expects input_ids [batch, sequence], got " +
                         shapeText(ids.shape()));
  Operand places =
      context.has(8)
          ? context.input(8)
          : emit.reshape(emit.iota(ids.shape()[1], 1, 2), {1, ids.shape()[1]});
  SmallVector<Operand> terms;
  for (auto [table, indices] :
       {std::pair<size_t, Operand>(2, ids),
        {3, places},
        {4, context.has(1) ? context.input(1) : Operand()}}) {
    if (!context.has(table) || !indices)
      continue;
    StandardNode gather(context, "Gather");
    FailureOr<SmallVector<Operand>> rows =
        gather.decode({context.input(table), indices});
    if (failed(rows))
      return failure();
    terms.push_back(rows->front());
  }
  FailureOr<Operand> sum = sumOf(context, terms);
  if (failed(sum))
    return failure();
  StandardNode norm(context, "LayerNormalization");
  norm.set("epsilon", context.floatAttribute("epsilon", 1e-12f));
  Type counted = emit.attributes().getI32Type();
  if (context.has(7) &&
      (context.input(7).isFloat() || context.input(7).shape() != ids.shape()))
    return context.error("expects an integer mask of shape " +
                         shapeText(ids.shape()) + ", got " +
                         shapeText(context.input(7).shape()));
  if (context.wants(1))
    context.set(
        1, context.has(7)
               ? emit.reshape(emit.reduce<nn::ReduceSumOp>(
                                  emit.cast(context.input(7), counted), {1}),
                              {ids.shape()[0]})
               : emit.splat({ids.shape()[0]}, counted, 0));
  if (context.wants(2))
    context.set(2, *sum);
  return setTo(context, norm, {*sum, context.input(5), context.input(6)});
}

} // namespace

ArrayRef<Decoder> shardc::onnx::microsoftDecoders() {
  static constexpr Decoder decoders[] = {
      {"com.microsoft.BiasGelu", 1, 2, 2, gelu<false>},
      {"com.microsoft.EmbedLayerNormalization", 1, 1, 9, embedNorm},
      {"com.microsoft.FastGelu", 1, 1, 2, gelu<true>},
      {"com.microsoft.FusedConv", 1, 2, 4, fusedConv},
      {"com.microsoft.FusedGemm", 1, 2, 3, fusedGemm},
      {"com.microsoft.FusedMatMul", 1, 2, 2, fusedMatMul},
      {"com.microsoft.Gelu", 1, 1, 1, gelu<false>},
      {"com.microsoft.QuickGelu", 1, 1, 1, quickGelu},
      {"com.microsoft.SkipLayerNormalization", 1, 3, 5, skipNorm<false>},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, 4,
       skipNorm<true>},
      {"SimplifiedLayerNormalization", 1, 2, 2, simpleNorm},
  };
  return decoders;
}

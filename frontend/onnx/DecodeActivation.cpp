// Activation functions: one nn op where there is one, else composed of
// elementwise ops.
#include "frontend/onnx/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

template <typename Op> LogicalResult activation(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  context.set(0, context.emit.unary<Op>(context.input(0)));
  return success();
}

LogicalResult gelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  StringRef approximate = context.stringAttribute("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return context.error("approximate = '" + approximate +
                         "' is not supported; supported are 'none' and 'tanh'");
  SmallVector<NamedAttribute> attributes;
  if (approximate == "tanh")
    attributes.push_back(context.emit.flag("tanh"));
  context.set(0, context.emit.emit<nn::GeluOp>(context.input(0).type(),
                                               {context.input(0)}, attributes));
  return success();
}

/// x where x > 0, else `negative`.
Operand positiveOr(Emitter &emit, const Operand &x, const Operand &negative) {
  return emit.select(
      emit.compare(nn::CompareKind::gt, x, emit.scalar(x.elementType(), 0)), x,
      negative);
}

LogicalResult leakyRelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand x = context.input(0),
          alpha = context.emit.scalar(x.elementType(),
                                      context.floatAttribute("alpha", 0.01f));
  context.set(
      0, positiveOr(context.emit, x, context.emit.binary<nn::MulOp>(x, alpha)));
  return success();
}

LogicalResult pRelu(NodeContext &context) {
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 1)))
    return failure();
  FailureOr<Shape> shape = context.broadcastShape(context.allInputs());
  if (failed(shape))
    return failure();
  if (*shape != Shape(context.input(0).shape()))
    return context.error("expects its slope to broadcast to the input's shape");
  context.set(0, positiveOr(context.emit, context.input(0),
                            context.emit.binary<nn::MulOp>(context.input(0),
                                                           context.input(1))));
  return success();
}

/// alpha (e^x - 1), of min(x, 0) so that the branch that is not taken stays
/// finite.
Operand eluNegative(Emitter &emit, const Operand &x, double alpha) {
  Type element = x.elementType();
  Operand bounded = emit.binary<nn::MinOp>(x, emit.scalar(element, 0));
  Operand grown = emit.binary<nn::SubOp>(emit.unary<nn::ExpOp>(bounded),
                                         emit.scalar(element, 1));
  return alpha == 1
             ? grown
             : emit.binary<nn::MulOp>(grown, emit.scalar(element, alpha));
}

LogicalResult elu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand x = context.input(0);
  context.set(0, positiveOr(context.emit, x,
                            eluNegative(context.emit, x,
                                        context.floatAttribute("alpha", 1))));
  return success();
}

LogicalResult selu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  double alpha = context.floatAttribute("alpha", 1.67326319217681884765625);
  double gamma = context.floatAttribute("gamma", 1.05070102214813232421875);
  Operand x = context.input(0);
  Operand result =
      positiveOr(context.emit, x, eluNegative(context.emit, x, alpha));
  context.set(0, context.emit.binary<nn::MulOp>(
                     result, context.emit.scalar(x.elementType(), gamma)));
  return success();
}

LogicalResult celu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  double alpha = context.floatAttribute("alpha", 1);
  Operand x = context.input(0);
  Operand scaled = context.emit.binary<nn::DivOp>(
      x, context.emit.scalar(x.elementType(), alpha));
  context.set(
      0, positiveOr(context.emit, x, eluNegative(context.emit, scaled, alpha)));
  return success();
}

/// max(0, min(1, alpha x + beta)).
Operand hardSigmoid(Emitter &emit, const Operand &x, double alpha,
                    double beta) {
  Type element = x.elementType();
  Operand line = emit.binary<nn::AddOp>(
      emit.binary<nn::MulOp>(x, emit.scalar(element, alpha)),
      emit.scalar(element, beta));
  return emit.binary<nn::MaxOp>(
      emit.binary<nn::MinOp>(line, emit.scalar(element, 1)),
      emit.scalar(element, 0));
}

LogicalResult hardSigmoid(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  context.set(0, hardSigmoid(context.emit, context.input(0),
                             context.floatAttribute("alpha", 0.2f),
                             context.floatAttribute("beta", 0.5f)));
  return success();
}

LogicalResult hardSwish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand gate = hardSigmoid(context.emit, context.input(0), 1.0 / 6, 0.5);
  context.set(0, context.emit.binary<nn::MulOp>(context.input(0), gate));
  return success();
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
Operand softplus(Emitter &emit, const Operand &x) {
  Operand small =
      emit.unary<nn::ExpOp>(emit.unary<nn::NegOp>(emit.unary<nn::AbsOp>(x)));
  Operand log = emit.unary<nn::LogOp>(
      emit.binary<nn::AddOp>(small, emit.scalar(x.elementType(), 1)));
  return emit.binary<nn::AddOp>(emit.unary<nn::ReluOp>(x), log);
}

LogicalResult softplus(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  context.set(0, softplus(context.emit, context.input(0)));
  return success();
}

LogicalResult mish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand gate =
      context.emit.unary<nn::TanhOp>(softplus(context.emit, context.input(0)));
  context.set(0, context.emit.binary<nn::MulOp>(context.input(0), gate));
  return success();
}

LogicalResult softsign(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand x = context.input(0);
  Operand below =
      context.emit.binary<nn::AddOp>(context.emit.unary<nn::AbsOp>(x),
                                     context.emit.scalar(x.elementType(), 1));
  context.set(0, context.emit.binary<nn::DivOp>(x, below));
  return success();
}

/// x sigmoid(alpha x).
LogicalResult swish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  double alpha = context.floatAttribute("alpha", 1);
  Operand x = context.input(0);
  if (alpha == 1)
    return activation<nn::SiluOp>(context);
  Operand scaled = context.emit.binary<nn::MulOp>(
      x, context.emit.scalar(x.elementType(), alpha));
  context.set(0, context.emit.binary<nn::MulOp>(
                     x, context.emit.unary<nn::SigmoidOp>(scaled)));
  return success();
}

LogicalResult thresholdedRelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand x = context.input(0), zero = context.emit.scalar(x.elementType(), 0);
  Operand alpha =
      context.emit.scalar(x.elementType(), context.floatAttribute("alpha", 1));
  context.set(
      0, context.emit.select(
             context.emit.compare(nn::CompareKind::gt, x, alpha), x, zero));
  return success();
}

constexpr Decoder decoders[] = {
    {"Celu", 12, 1, 1, celu},
    {"Elu", 6, 1, 1, elu},
    {"Gelu", 20, 1, 1, gelu},
    {"HardSigmoid", 6, 1, 1, hardSigmoid},
    {"HardSwish", 14, 1, 1, hardSwish},
    {"LeakyRelu", 6, 1, 1, leakyRelu},
    {"Mish", 18, 1, 1, mish},
    {"PRelu", 9, 2, 2, pRelu},
    {"Relu", 13, 1, 1, activation<nn::ReluOp>},
    {"Selu", 6, 1, 1, selu},
    {"Sigmoid", 13, 1, 1, activation<nn::SigmoidOp>},
    {"Softplus", 1, 1, 1, softplus},
    {"Softsign", 1, 1, 1, softsign},
    {"Swish", 24, 1, 1, swish},
    {"Tanh", 13, 1, 1, activation<nn::TanhOp>},
    {"ThresholdedRelu", 10, 1, 1, thresholdedRelu},
};

} // namespace

ArrayRef<Decoder> shardc::onnx::activationDecoders() { return decoders; }

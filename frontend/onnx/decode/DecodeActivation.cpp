// Activation functions: one nn op where there is one, else composed of
// elementwise ops, whose results are not rounded in between.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

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

/// x where x > 0, else `slope` x. The slope multiplies nothing but what is not
/// positive, so that its gradient is 0 elsewhere, whatever x is.
Operand leaky(Emitter &emit, const Operand &x, const Operand &slope) {
  Operand zero = emit.scalar(x.elementType(), 0);
  Operand positive = emit.compare(nn::CompareKind::gt, x, zero);
  Operand rest = slope.isConstant() ? x : emit.select(positive, zero, x);
  return emit.select(positive, x, emit.binary<nn::MulOp>(rest, slope));
}

LogicalResult leakyRelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  const Operand &x = context.input(0);
  context.set(
      0, leaky(context.emit, x,
               context.emit.scalar(x.elementType(),
                                   context.floatAttribute("alpha", 0.01f))));
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
  context.set(0, leaky(context.emit, context.input(0), context.input(1)));
  return success();
}

/// x where x > 0, else alpha (e^(x / width) - 1). The exponent is 0 where it is
/// not used, so that it stays finite; it is chosen, not bounded by a minimum,
/// which would share the gradient at 0 with the bound.
Operand exponentialUnit(Emitter &emit, const Operand &x, double alpha,
                        double width) {
  Type element = x.elementType();
  Operand zero = emit.scalar(element, 0);
  Operand below = emit.compare(nn::CompareKind::le, x, zero);
  Operand exponent = emit.select(below, x, zero);
  if (width != 1)
    exponent = emit.binary<nn::DivOp>(exponent, emit.scalar(element, width));
  Operand grown = emit.unary<nn::Expm1Op>(exponent);
  if (alpha != 1)
    grown = emit.binary<nn::MulOp>(grown, emit.scalar(element, alpha));
  return emit.select(below, grown, x);
}

LogicalResult elu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  context.set(
      0, one.result(exponentialUnit(context.emit, context.input(0),
                                    context.floatAttribute("alpha", 1), 1)));
  return success();
}

LogicalResult selu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  double alpha = context.floatAttribute("alpha", 1.67326319217681884765625);
  double gamma = context.floatAttribute("gamma", 1.05070102214813232421875);
  Emitter::OneRounding one(context.emit);
  Operand result = exponentialUnit(context.emit, context.input(0), alpha, 1);
  context.set(0,
              one.result(context.emit.binary<nn::MulOp>(
                  result, context.emit.scalar(result.elementType(), gamma))));
  return success();
}

LogicalResult celu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  double alpha = context.floatAttribute("alpha", 1);
  Emitter::OneRounding one(context.emit);
  context.set(0, one.result(exponentialUnit(context.emit, context.input(0),
                                            alpha, alpha)));
  return success();
}

/// 0 where `low` holds, 1 where `high` does, else `line`: between them only has
/// it a gradient, as in torch.
Operand ramp(Emitter &emit, const Operand &line, const Operand &low,
             const Operand &high) {
  Operand zero = emit.scalar(line.elementType(), 0),
          one = emit.scalar(line.elementType(), 1);
  return emit.select(low, zero, emit.select(high, one, line));
}

/// max(0, min(1, alpha x + beta)).
LogicalResult hardSigmoid(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Type element = context.input(0).elementType();
  auto number = [&](double value) { return emit.scalar(element, value); };
  Emitter::OneRounding one(emit);
  Operand line = emit.binary<nn::AddOp>(
      emit.binary<nn::MulOp>(context.input(0),
                             number(context.floatAttribute("alpha", 0.2f))),
      number(context.floatAttribute("beta", 0.5f)));
  context.set(
      0, one.result(ramp(emit, line,
                         emit.compare(nn::CompareKind::le, line, number(0)),
                         emit.compare(nn::CompareKind::ge, line, number(1)))));
  return success();
}

/// x max(0, min(1, (x + 3) / 6)); the ends are compared in x, of which no
/// rounding moves them.
LogicalResult hardSwish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  auto number = [&](double value) {
    return emit.scalar(x.elementType(), value);
  };
  Emitter::OneRounding one(emit);
  Operand line =
      emit.binary<nn::DivOp>(emit.binary<nn::AddOp>(x, number(3)), number(6));
  Operand gate =
      ramp(emit, line, emit.compare(nn::CompareKind::le, x, number(-3)),
           emit.compare(nn::CompareKind::ge, x, number(3)));
  context.set(0, one.result(emit.binary<nn::MulOp>(x, gate)));
  return success();
}

LogicalResult mish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  Operand gate = context.emit.unary<nn::TanhOp>(
      context.emit.unary<nn::SoftplusOp>(context.input(0)));
  context.set(
      0, one.result(context.emit.binary<nn::MulOp>(context.input(0), gate)));
  return success();
}

LogicalResult softsign(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  Operand x = context.input(0);
  Operand below =
      context.emit.binary<nn::AddOp>(context.emit.unary<nn::AbsOp>(x),
                                     context.emit.scalar(x.elementType(), 1));
  context.set(0, one.result(context.emit.binary<nn::DivOp>(x, below)));
  return success();
}

/// x sigmoid(alpha x).
Operand swishOf(Emitter &emit, const Operand &x, double alpha) {
  if (alpha == 1)
    return emit.unary<nn::SiluOp>(x);
  Operand scaled =
      emit.binary<nn::MulOp>(x, emit.scalar(x.elementType(), alpha));
  return emit.binary<nn::MulOp>(x, emit.unary<nn::SigmoidOp>(scaled));
}

LogicalResult swish(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter::OneRounding one(context.emit);
  context.set(0, one.result(swishOf(context.emit, context.input(0),
                                    context.floatAttribute("alpha", 1))));
  return success();
}

/// Shazeer, https://arxiv.org/abs/2002.05202.
LogicalResult swiglu(NodeContext &context) {
  const Operand &gate = context.input(0), &value = context.input(1);
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 1)))
    return failure();
  if (gate.shape() != value.shape())
    return context.error("expects two inputs of one shape, got " +
                         shapeText(gate.shape()) + " and " +
                         shapeText(value.shape()));
  Emitter::OneRounding one(context.emit);
  context.set(
      0, one.result(context.emit.binary<nn::MulOp>(
             swishOf(context.emit, gate, context.floatAttribute("alpha", 1)),
             value)));
  return success();
}

LogicalResult thresholdedRelu(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Operand x = context.input(0), zero = context.emit.scalar(x.elementType(), 0);
  Operand alpha =
      context.emit.scalar(x.elementType(), context.floatAttribute("alpha", 1));
  // A NaN is not below alpha: it stays.
  context.set(
      0, context.emit.select(
             context.emit.compare(nn::CompareKind::le, x, alpha), zero, x));
  return success();
}

/// 0 within `lambd` of 0, else nearer to it by `bias`: torch's softshrink where
/// they are equal, its hardshrink without a bias.
LogicalResult shrink(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Operand x = context.input(0);
  auto number = [&](double value) {
    return emit.scalar(x.elementType(), value);
  };
  double lambd = context.floatAttribute("lambd", 0.5f);
  double bias = context.floatAttribute("bias", 0);
  Operand outside =
      bias == 0 ? x
                : emit.select(emit.compare(nn::CompareKind::lt, x, number(0)),
                              emit.binary<nn::AddOp>(x, number(bias)),
                              emit.binary<nn::SubOp>(x, number(bias)));
  // A NaN is not inside: it stays.
  Operand inside = emit.binary<nn::AndOp>(
      emit.compare(nn::CompareKind::ge, x, number(-lambd)),
      emit.compare(nn::CompareKind::le, x, number(lambd)));
  context.set(0, emit.select(inside, number(0), outside));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::activationDecoders() {
  static constexpr Decoder decoders[] = {
      {"Celu", 12, 1, 1, celu},
      {"Elu", 6, 1, 1, elu},
      {"Gelu", 20, 1, 1, gelu},
      {"HardSigmoid", 6, 1, 1, hardSigmoid},
      {"HardSwish", 14, 1, 1, hardSwish},
      {"LeakyRelu", 6, 1, 1, leakyRelu},
      {"Mish", 18, 1, 1, mish},
      {"PRelu", 9, 2, 2, pRelu},
      {"Relu", 6, 1, 1, floatUnary<nn::ReluOp>},
      {"Selu", 6, 1, 1, selu},
      {"Shrink", 9, 1, 1, shrink},
      {"Sigmoid", 6, 1, 1, floatUnary<nn::SigmoidOp>},
      {"Softplus", 1, 1, 1, floatUnary<nn::SoftplusOp>},
      {"Softsign", 1, 1, 1, softsign},
      {"SwiGLU", 28, 2, 2, swiglu},
      {"Swish", 24, 1, 1, swish},
      {"Tanh", 6, 1, 1, floatUnary<nn::TanhOp>},
      {"ThresholdedRelu", 10, 1, 1, thresholdedRelu},
  };
  return decoders;
}

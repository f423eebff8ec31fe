// Trigonometric and hyperbolic functions, and their inverses. Those that are
// no nn op are composed of such, and rounded once.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

LogicalResult tangent(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  const Operand &x = context.input(0);
  Operand wide = emit.cast(x, emit.arithmeticType(x.elementType()));
  Operand quotient = emit.binary<nn::DivOp>(emit.unary<nn::SinOp>(wide),
                                            emit.unary<nn::CosOp>(wide));
  context.set(0, one.result(emit.cast(quotient, x.elementType())));
  return success();
}

/// Half of e^x -+ e^-x: both less 1, so that nothing is lost near 0.
template <typename Op> LogicalResult hyperbolic(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  const Operand &x = context.input(0);
  Type element = emit.arithmeticType(x.elementType());
  Operand wide = emit.cast(x, element);
  Operand half = emit.binary<nn::MulOp>(
      emit.binary<Op>(emit.unary<nn::Expm1Op>(wide),
                      emit.unary<nn::Expm1Op>(emit.unary<nn::NegOp>(wide))),
      emit.scalar(element, 0.5));
  if (std::is_same_v<Op, nn::AddOp>)
    half = emit.binary<nn::AddOp>(half, emit.scalar(element, 1));
  context.set(0, one.result(emit.cast(half, x.elementType())));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::trigonometryDecoders() {
  static constexpr Decoder decoders[] = {
      {"Acos", 7, 1, 1, floatUnary<nn::AcosOp>},
      {"Acosh", 9, 1, 1, floatUnary<nn::AcoshOp>},
      {"Asin", 7, 1, 1, floatUnary<nn::AsinOp>},
      {"Asinh", 9, 1, 1, floatUnary<nn::AsinhOp>},
      {"Atan", 7, 1, 1, floatUnary<nn::AtanOp>},
      {"Atanh", 9, 1, 1, floatUnary<nn::AtanhOp>},
      {"Cos", 7, 1, 1, floatUnary<nn::CosOp>},
      {"Cosh", 9, 1, 1, hyperbolic<nn::AddOp>},
      {"Sin", 7, 1, 1, floatUnary<nn::SinOp>},
      {"Sinh", 9, 1, 1, hyperbolic<nn::SubOp>},
      {"Tan", 7, 1, 1, tangent},
  };
  return decoders;
}

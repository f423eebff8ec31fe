// Ops that map elements to elements.
#include "frontend/onnx/decode/Decoder.h"

#include <limits>

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

template <typename Op> LogicalResult unary(NodeContext &context) {
  context.set(0, context.emit.unary<Op>(context.input(0)));
  return success();
}

/// Unary ops that are defined on floats only.
template <typename Op> LogicalResult binary(NodeContext &context) {
  if (failed(context.sameElementType(0, 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  context.set(0, context.emit.binary<Op>(context.input(0), context.input(1)));
  return success();
}

template <typename Op> LogicalResult logical(NodeContext &context) {
  return failed(context.expectBool(0)) ? failure() : binary<Op>(context);
}

/// A divisor of integers that is known and somewhere 0: the kernels define the
/// result, but no model means it.
void warnOfZeroDivisor(NodeContext &context) {
  const Operand &divisor = context.input(1);
  if (divisor.isFloat() || !divisor.isConstant() ||
      divisor.host().compact().elements() > Emitter::maxElements)
    return;
  if (llvm::is_contained(divisor.host().compact().toInts(), 0))
    context.warning("divides integers by a constant 0; the result there is 0");
}

LogicalResult divide(NodeContext &context) {
  warnOfZeroDivisor(context);
  return binary<nn::DivOp>(context);
}

/// Sum, Mean, Max, Min: any number of inputs, combined from the left.
template <typename Op, bool mean = false>
LogicalResult variadic(NodeContext &context) {
  if (failed(context.sameElementType(0, context.inputCount() - 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  Emitter::OneRounding one(context.emit);
  Operand result = context.input(0);
  for (size_t i = 1; i < context.inputCount(); ++i)
    result = context.emit.binary<Op>(result, context.input(i));
  if (mean)
    result = context.emit.binary<nn::DivOp>(
        result, context.emit.scalar(result.elementType(),
                                    double(context.inputCount())));
  context.set(0, one.result(result));
  return success();
}

/// Max or Min of x and what it is clamped to: at a bound that is a number x has
/// no gradient, as in torch's clamp, hardtanh and relu6. A bound that is
/// computed shares it, there as in a maximum.
template <typename Op, nn::CompareKind beyond>
Operand clamped(Emitter &emit, const Operand &x, const Operand &limit) {
  return limit.isConstant()
             ? emit.select(emit.compare(beyond, x, limit), limit, x)
             : emit.binary<Op>(x, limit);
}

/// Max and Min, which torch's clamp is exported as, too.
template <typename Op, nn::CompareKind beyond>
LogicalResult extremum(NodeContext &context) {
  if (context.inputCount() != 2 || !context.atenFunction().starts_with("clamp"))
    return variadic<Op>(context);
  if (failed(context.sameElementType(0, 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  context.set(
      0, clamped<Op, beyond>(context.emit, context.input(0), context.input(1)));
  return success();
}

LogicalResult mean(NodeContext &context) {
  return failed(context.expectFloat(0)) ? failure()
                                        : variadic<nn::AddOp, true>(context);
}

template <nn::CompareKind kind> LogicalResult compare(NodeContext &context) {
  if (failed(context.sameElementType(0, 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  context.set(0,
              context.emit.compare(kind, context.input(0), context.input(1)));
  return success();
}

LogicalResult logicalNot(NodeContext &context) {
  return failed(context.expectBool(0)) ? failure() : unary<nn::NotOp>(context);
}

/// Whether a constant of floats has whole numbers only, of int32's range.
bool isWhole(const Operand &operand) {
  return operand.isConstant() &&
         llvm::all_of(operand.host().compact().toFloats(), [](double value) {
           return value == std::trunc(value) && std::abs(value) < 0x1p31;
         });
}

/// The exponent may be of another type; the result has the base's. A power of
/// integers stays one where it can: its low bits are those of any wider type.
LogicalResult power(NodeContext &context) {
  if (failed(context.broadcastShape(context.allInputs())))
    return failure();
  Emitter &emit = context.emit;
  Operand exponent = context.input(1), base = context.input(0);
  Type type = base.elementType(), computed = type;
  if (type.isInteger(1))
    return context.error("is not supported for the data type bool");
  auto bits = [](const Operand &operand) {
    return operand.elementType().getIntOrFloatBitWidth();
  };
  if (!base.isFloat() && exponent.elementType() != type) {
    if (exponent.isFloat() && !isWhole(exponent))
      computed = emit.attributes().getF64Type();
    else
      computed = emit.attributes().getIntegerType(
          bits(base) == 64 || (!exponent.isFloat() && bits(exponent) == 64) ||
                  exponent.elementType().isUnsignedInteger(32)
              ? 64
              : 32);
  }
  Operand result = emit.binary<nn::PowOp>(emit.cast(base, computed),
                                          emit.cast(exponent, computed));
  context.set(0, emit.cast(result, type));
  return success();
}

/// Since opset 28 floats have a floored quotient as well.
constexpr int64_t flooredFloats = 28;

LogicalResult modulo(NodeContext &context) {
  if (failed(context.sameElementType(0, 1)))
    return failure();
  FailureOr<Shape> shape = context.broadcastShape(context.allInputs());
  if (failed(shape))
    return failure();
  warnOfZeroDivisor(context);
  bool fmod = context.intAttribute("fmod", 0) != 0;
  if (context.input(0).isFloat() && !fmod && context.node.opset < flooredFloats)
    return context.error("expects fmod = 1 for floats before opset " +
                         Twine(flooredFloats));
  SmallVector<NamedAttribute> attributes;
  if (fmod)
    attributes.push_back(context.emit.flag("fmod"));
  Emitter &emit = context.emit;
  context.set(0, emit.emit<nn::ModOp>(
                     emit.typeOf(*shape, context.input(0).elementType()),
                     {emit.broadcast(context.input(0), *shape),
                      emit.broadcast(context.input(1), *shape)},
                     attributes));
  return success();
}

LogicalResult where(NodeContext &context) {
  if (failed(context.expectBool(0)) || failed(context.sameElementType(1, 2)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  context.set(0, context.emit.select(context.input(0), context.input(1),
                                     context.input(2)));
  return success();
}

LogicalResult cast(NodeContext &context) {
  int dtype = context.intAttribute("to", 0);
  Type element = elementType(context.emit.attributes().getContext(), dtype);
  if (!element)
    return context.error("cast to " + dtypeName(dtype) +
                         " is not supported; supported are " +
                         supportedTypeNames());
  context.set(0, context.emit.cast(context.input(0), element));
  return success();
}

LogicalResult castLike(NodeContext &context) {
  context.set(
      0, context.emit.cast(context.input(0), context.input(1).elementType()));
  return success();
}

LogicalResult isNan(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  context.set(0,
              emit.emit<nn::IsNanOp>(emit.typeOf(context.input(0).shape(),
                                                 emit.attributes().getI1Type()),
                                     {context.input(0)}));
  return success();
}

/// Max and Min of opset 12 on: absent bounds do not bound.
LogicalResult isInf(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  Operand result;
  for (auto [flag, sign] : {std::pair("detect_positive", 1.0),
                            std::pair("detect_negative", -1.0)}) {
    if (!context.intAttribute(flag, 1))
      continue;
    Operand is = emit.compare(
        nn::CompareKind::eq, x,
        emit.scalar(x.elementType(),
                    sign * std::numeric_limits<double>::infinity()));
    result = result ? emit.binary<nn::OrOp>(result, is) : is;
  }
  context.set(0, result
                     ? result
                     : emit.splat(x.shape(), emit.attributes().getI1Type(), 0));
  return success();
}

LogicalResult clip(NodeContext &context) {
  Operand result = context.input(0);
  for (size_t bound : {1, 2}) {
    if (!context.has(bound))
      continue;
    if (context.input(bound).elementType() != result.elementType() ||
        context.input(bound).type().getNumElements() != 1)
      return context.error(
          "expects its bounds to be scalars of the input's type");
    Operand limit = context.emit.reshape(context.input(bound), {});
    result = bound == 1 ? clamped<nn::MaxOp, nn::CompareKind::le>(context.emit,
                                                                  result, limit)
                        : clamped<nn::MinOp, nn::CompareKind::ge>(
                              context.emit, result, limit);
  }
  context.set(0, result);
  return success();
}

LogicalResult sign(NodeContext &context) {
  Operand x = context.input(0), zero = context.emit.scalar(x.elementType(), 0);
  Operand positive = context.emit.compare(nn::CompareKind::gt, x, zero);
  Operand negative = context.emit.compare(nn::CompareKind::lt, x, zero);
  context.set(0, context.emit.binary<nn::SubOp>(
                     context.emit.cast(positive, x.elementType()),
                     context.emit.cast(negative, x.elementType())));
  return success();
}

LogicalResult identity(NodeContext &context) {
  context.set(0, context.input(0));
  return success();
}

using Kind = nn::CompareKind;

} // namespace

ArrayRef<Decoder> shardc::onnx::elementwiseDecoders() {
  static constexpr Decoder decoders[] = {
      {"Abs", 6, 1, 1, unary<nn::AbsOp>},
      {"Add", 7, 2, 2, binary<nn::AddOp>},
      {"And", 7, 2, 2, logical<nn::AndOp>},
      {"Cast", 6, 1, 1, cast},
      {"CastLike", 15, 2, 2, castLike},
      {"Ceil", 6, 1, 1, floatUnary<nn::CeilOp>},
      {"Clip", 11, 1, 3, clip},
      {"Div", 7, 2, 2, divide},
      {"Equal", 7, 2, 2, compare<Kind::eq>},
      {"Erf", 9, 1, 1, floatUnary<nn::ErfOp>},
      {"Exp", 6, 1, 1, floatUnary<nn::ExpOp>},
      {"Floor", 6, 1, 1, floatUnary<nn::FloorOp>},
      {"Greater", 7, 2, 2, compare<Kind::gt>},
      {"GreaterOrEqual", 12, 2, 2, compare<Kind::ge>},
      {"Identity", 1, 1, 1, identity},
      {"IsInf", 10, 1, 1, isInf},
      {"IsNaN", 9, 1, 1, isNan},
      {"Less", 7, 2, 2, compare<Kind::lt>},
      {"LessOrEqual", 12, 2, 2, compare<Kind::le>},
      {"Log", 6, 1, 1, floatUnary<nn::LogOp>},
      {"Max", 8, 1, -1, extremum<nn::MaxOp, Kind::le>},
      {"Mean", 8, 1, -1, mean},
      {"Min", 8, 1, -1, extremum<nn::MinOp, Kind::ge>},
      {"Mod", 10, 2, 2, modulo},
      {"Mul", 7, 2, 2, binary<nn::MulOp>},
      {"Neg", 6, 1, 1, unary<nn::NegOp>},
      {"Not", 1, 1, 1, logicalNot},
      {"Or", 7, 2, 2, logical<nn::OrOp>},
      {"Pow", 7, 2, 2, power},
      {"Reciprocal", 6, 1, 1, floatUnary<nn::ReciprocalOp>},
      {"Round", 11, 1, 1, floatUnary<nn::RoundOp>},
      {"Sign", 9, 1, 1, sign},
      {"Sqrt", 6, 1, 1, floatUnary<nn::SqrtOp>},
      {"Sub", 7, 2, 2, binary<nn::SubOp>},
      {"Sum", 8, 1, -1, variadic<nn::AddOp>},
      {"Where", 9, 3, 3, where},
      {"Xor", 7, 2, 2, logical<nn::XorOp>},
  };
  return decoders;
}

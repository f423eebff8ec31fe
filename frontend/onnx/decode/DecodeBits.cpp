// Ops on the bits of elements.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

LogicalResult expectIntegers(NodeContext &context) {
  Type element = context.input(0).elementType();
  if (isa<FloatType>(element) || element.isInteger(1))
    return context.error("is not supported for the data type " +
                         typeName(element) + "; expects integers");
  return success();
}

template <typename Op> LogicalResult bitwise(NodeContext &context) {
  if (failed(expectIntegers(context)) ||
      failed(context.sameElementType(0, 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  context.set(0, context.emit.binary<Op>(context.input(0), context.input(1)));
  return success();
}

LogicalResult bitwiseNot(NodeContext &context) {
  if (failed(expectIntegers(context)))
    return failure();
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  Operand ones = nn::HostTensor::splatInt(emit.typeOf({}, x.elementType()), -1);
  context.set(0, emit.binary<nn::XorOp>(x, ones));
  return success();
}

/// Since opset 28 integers have a sign, which fills the bits that a shift to the
/// right leaves empty. By a count that is negative or as many as there are bits
/// all of them leave.
constexpr int64_t signedShifts = 28;

/// floor(x / power), power > 0.
Operand floored(Emitter &emit, const Operand &x, const Operand &power) {
  return emit.binary<nn::DivOp>(
      emit.binary<nn::SubOp>(x, emit.binary<nn::ModOp>(x, power)), power);
}

Operand signedShift(Emitter &emit, const Operand &x, const Operand &count,
                    bool isLeft) {
  Type type = x.elementType();
  auto number = [&](double value) { return emit.scalar(type, value); };
  const unsigned last = type.getIntOrFloatBitWidth() - 1;
  Operand within = emit.binary<nn::AndOp>(
      emit.compare(nn::CompareKind::ge, count, number(0)),
      emit.compare(nn::CompareKind::le, count, number(last)));
  if (isLeft)
    return emit.select(
        within,
        emit.binary<nn::MulOp>(
            x, emit.binary<nn::PowOp>(number(2),
                                      emit.select(within, count, number(0)))),
        number(0));
  // In two halves: the power of all bits but one is no positive number.
  Operand by = emit.select(within, count, number(last));
  Operand half = emit.binary<nn::DivOp>(by, number(2));
  Operand rest = emit.binary<nn::SubOp>(by, half);
  Operand some = floored(emit, x, emit.binary<nn::PowOp>(number(2), half));
  return floored(emit, some, emit.binary<nn::PowOp>(number(2), rest));
}

/// Times a power of two, or divided by it: both wrap to 0 where all bits leave.
LogicalResult bitShift(NodeContext &context) {
  const Operand &x = context.input(0);
  StringRef direction = context.stringAttribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return context.error("has the direction '" + direction +
                         "'; expects LEFT or RIGHT");
  bool hasSign = isa<IntegerType>(x.elementType()) &&
                 !x.elementType().isUnsignedInteger() &&
                 !x.elementType().isInteger(1);
  if (!x.elementType().isUnsignedInteger() &&
      !(hasSign && context.node.opset >= signedShifts))
    return context.error("is not supported for the data type " +
                         typeName(x.elementType()) +
                         "; expects integers without a sign, or, from opset " +
                         Twine(signedShifts) + " on, integers");
  if (failed(context.sameElementType(0, 1)) ||
      failed(context.broadcastShape(context.allInputs())))
    return failure();
  Emitter &emit = context.emit;
  if (hasSign) {
    context.set(0, signedShift(emit, x, context.input(1), direction == "LEFT"));
    return success();
  }
  Operand power =
      emit.binary<nn::PowOp>(emit.scalar(x.elementType(), 2), context.input(1));
  context.set(0, direction == "LEFT" ? emit.binary<nn::MulOp>(x, power)
                                     : emit.binary<nn::DivOp>(x, power));
  return success();
}

LogicalResult bitCast(NodeContext &context) {
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  int dtype = context.intAttribute("to", 0);
  Type element = elementType(emit.attributes().getContext(), dtype);
  if (!element)
    return context.error("to " + dtypeName(dtype) +
                         " is not supported; supported are " +
                         supportedTypeNames());
  auto bytes = [](Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; };
  if (bytes(element) != bytes(x.elementType()))
    return context.error("expects a type of " + Twine(bytes(x.elementType())) +
                         " bytes, as " + typeName(x.elementType()) +
                         " has, got " + typeName(element) + " of " +
                         Twine(bytes(element)));
  // A bool is stored as a byte, 0 or 1: which of the others is true is not said.
  if (element.isInteger(1) && !x.elementType().isInteger(1))
    return context.error("makes bools of " + typeName(x.elementType()) +
                         "; use Cast");
  bool isCast = !isa<FloatType>(element) && !x.isFloat();
  context.set(
      0, isCast || element == x.elementType()
             ? emit.cast(x, element)
             : emit.emit<nn::BitcastOp>(emit.typeOf(x.shape(), element), {x}));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::bitDecoders() {
  static constexpr Decoder decoders[] = {
      {"BitCast", 26, 1, 1, bitCast},
      {"BitShift", 11, 2, 2, bitShift},
      {"BitwiseAnd", 18, 2, 2, bitwise<nn::AndOp>},
      {"BitwiseNot", 18, 1, 1, bitwiseNot},
      {"BitwiseOr", 18, 2, 2, bitwise<nn::OrOp>},
      {"BitwiseXor", 18, 2, 2, bitwise<nn::XorOp>},
  };
  return decoders;
}

// Quantization to integers and back. Together they are what training sees of
// quantization: a value is rounded, and learned as if it had not been
// (nn.straight_through).
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// What an integer type holds.
struct Range {
  double low, high;
};

/// None for a type that nothing is quantized to.
std::optional<Range> rangeOf(Type type) {
  auto integer = dyn_cast_or_null<IntegerType>(type);
  if (!integer || (integer.getWidth() != 8 && integer.getWidth() != 16))
    return std::nullopt;
  const double count = double(1 << integer.getWidth());
  return integer.isUnsigned() ? Range{0, count - 1}
                              : Range{-count / 2, count / 2 - 1};
}

/// A scale or zero point, one for all elements, for each place along an axis or
/// for each block of places there: broadcasts against `shape`.
FailureOr<Operand> perElement(NodeContext &context, size_t i,
                              ArrayRef<int64_t> shape) {
  Emitter &emit = context.emit;
  const Operand &given = context.input(i);
  if (ShapedType::getNumElements(given.shape()) == 1)
    return emit.reshape(given, {});
  const int64_t rank = shape.size();
  FailureOr<int64_t> axis =
      context.axis(rank == 1 ? 0 : context.intAttribute("axis", 1), rank);
  if (failed(axis))
    return failure();
  const int64_t size = shape[*axis];
  Shape expected(shape);
  // A block that is longer than the axis is all of it.
  const int64_t block = std::min(context.intAttribute("block_size", 0), size);
  if (block < 0)
    return context.error("expects a block_size of 1 or more, got " +
                         Twine(block));
  if (block == 0) {
    expected.assign(rank, 1);
    expected[*axis] = size;
    if (given.shape() != ArrayRef(size))
      return context.error("expects input " + Twine(i) +
                           " to be one number, or one for each of the " +
                           Twine(size) + " places of axis " + Twine(*axis) +
                           ", got " + shapeText(given.shape()));
    return emit.reshape(given, expected);
  }
  expected[*axis] = llvm::divideCeil(size, block);
  if (given.shape() != ArrayRef(expected))
    return context.error("expects input " + Twine(i) + " to be " +
                         shapeText(expected) + ", one number for each block " +
                         "of " + Twine(block) + " along axis " + Twine(*axis) +
                         ", got " + shapeText(given.shape()));
  Shape apart(expected);
  apart.insert(apart.begin() + *axis + 1, 1);
  Operand blocks = emit.reshape(given, apart);
  apart[*axis + 1] = block;
  expected[*axis] *= block;
  return emit.sliceDim(emit.reshape(emit.broadcast(blocks, apart), expected),
                       *axis, 0, size);
}

/// Input 2 as perElement() has it; nothing where it is not there. It has the
/// type of the integers and the scale's shape.
FailureOr<Operand> zeroPoint(NodeContext &context, Type integers) {
  if (!context.has(2))
    return Operand();
  const Operand &zero = context.input(2), &scale = context.input(1);
  if (zero.elementType() != integers)
    return context.error("expects a zero point of the quantized type " +
                         typeName(integers) + ", got " +
                         typeName(zero.elementType()));
  if (zero.shape() != scale.shape())
    return context.error("expects a zero point of the scale's shape " +
                         shapeText(scale.shape()) + ", got " +
                         shapeText(zero.shape()));
  return perElement(context, 2, context.input(0).shape());
}

/// The element type that an attribute names; `otherwise` where it names none.
FailureOr<Type> namedType(NodeContext &context, StringRef attribute,
                          Type otherwise) {
  const int dtype = context.intAttribute(attribute, 0);
  if (dtype == 0)
    return otherwise;
  Type type = elementType(context.emit.attributes().getContext(), dtype);
  if (!type)
    return context.error(attribute + " " + dtypeName(dtype) +
                         " is not supported; supported are " +
                         supportedTypeNames());
  return type;
}

/// x / scale, rounded, plus zero, within what the type holds. It is noted what
/// the integers are made of.
Operand quantized(Emitter &emit, const Operand &x, const Operand &scale,
                  const Operand &perElement, const Operand &zero, Type type) {
  Emitter::OneRounding one(emit);
  Type precision = perElement.elementType(),
       wide = emit.arithmeticType(precision);
  Operand places = emit.cast(emit.unary<nn::RoundOp>(emit.binary<nn::DivOp>(
                                 emit.cast(x, precision), perElement)),
                             wide);
  if (zero)
    places = emit.binary<nn::AddOp>(places, emit.cast(zero, wide));
  const Range range = *rangeOf(type);
  Operand inside = emit.binary<nn::MinOp>(
      emit.binary<nn::MaxOp>(places, emit.scalar(wide, range.low)),
      emit.scalar(wide, range.high));
  Operand result = emit.cast(inside, type);
  if (!result.isConstant())
    emit.quantizations.note(result.value(), {x, places, scale});
  return result;
}

LogicalResult quantizeLinear(NodeContext &context) {
  Emitter &emit = context.emit;
  const Operand &x = context.input(0), &scale = context.input(1);
  if (!scale.isFloat())
    return context.error("expects a scale of floats, got " +
                         typeName(scale.elementType()));
  Type type = context.has(2) ? context.input(2).elementType()
                             : emit.attributes().getIntegerType(8, false);
  FailureOr<Type> to = namedType(context, "output_dtype", type);
  if (failed(to))
    return failure();
  FailureOr<Type> precision =
      namedType(context, "precision", scale.elementType());
  if (failed(precision))
    return failure();
  if (!rangeOf(*to))
    return context.error("quantizes to " + typeName(*to) +
                         ", which is not supported; supported are int8, "
                         "uint8, int16 and uint16");
  if (!isa<FloatType>(*precision))
    return context.error("expects a precision of floats, got " +
                         typeName(*precision));
  FailureOr<Operand> factors = perElement(context, 1, x.shape());
  FailureOr<Operand> zero = failure();
  if (failed(factors) || failed(zero = zeroPoint(context, *to)))
    return failure();
  context.set(0, quantized(emit, x, scale, emit.cast(*factors, *precision),
                           *zero, *to));
  return success();
}

/// A value, and the number that it is not below or not above behind an op.
struct Bounded {
  Value value;
  double limit;
  bool isLow;
};

/// What Clip, Max and Min with a known bound become; none for other ops.
std::optional<Bounded> boundedBy(Operation *op) {
  Bounded bounded;
  Value limit;
  if (isa_and_nonnull<nn::MaxOp, nn::MinOp>(op)) {
    bounded = {op->getOperand(0), 0, isa<nn::MaxOp>(op)};
    limit = op->getOperand(1);
  } else if (auto select = dyn_cast_or_null<nn::SelectOp>(op)) {
    auto beyond = select.getCondition().getDefiningOp<nn::CompareOp>();
    if (!beyond || beyond.getLhs() != select.getRhs() ||
        (beyond.getKind() != nn::CompareKind::le &&
         beyond.getKind() != nn::CompareKind::ge))
      return std::nullopt;
    bounded = {select.getRhs(), 0, beyond.getKind() == nn::CompareKind::le};
    limit = select.getLhs();
  } else {
    return std::nullopt;
  }
  if (auto spread = limit.getDefiningOp<nn::BroadcastOp>())
    limit = spread.getInput();
  DenseElementsAttr constant;
  if (!matchPattern(limit, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  bounded.limit =
      double(nn::HostTensor::fromAttribute(constant).intAt(int64_t(0)));
  return bounded;
}

/// What integers were quantized from, and within which bounds: those of Clip
/// may be narrower than the type's own.
struct Source {
  const Quantized *from;
  Range range;
};

std::optional<Source> sourceOf(Emitter &emit, const Operand &integers) {
  std::optional<Range> range = rangeOf(integers.elementType());
  if (!range || integers.isConstant())
    return std::nullopt;
  Value value = integers.value();
  while (true) {
    if (const Quantized *from = emit.quantizations.of(value))
      return Source{from, *range};
    std::optional<Bounded> bounded = boundedBy(value.getDefiningOp());
    if (!bounded)
      return std::nullopt;
    if (bounded->isLow)
      range->low = std::max(range->low, bounded->limit);
    else
      range->high = std::min(range->high, bounded->limit);
    value = bounded->value;
  }
}

bool areEqual(const Operand &lhs, const Operand &rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    return lhs.type() == rhs.type() &&
           lhs.host().compact().toFloats() == rhs.host().compact().toFloats();
  return !lhs.isConstant() && !rhs.isConstant() && lhs.value() == rhs.value();
}

/// (x - zero) scale. Neither of the three is learned here; what x was quantized
/// from is, where it lay within what its type holds, as
/// torch.fake_quantize_per_tensor_affine has it.
LogicalResult dequantizeLinear(NodeContext &context) {
  Emitter &emit = context.emit;
  const Operand &x = context.input(0), &scale = context.input(1);
  if (!rangeOf(x.elementType()) && !x.elementType().isInteger(32))
    return context.error("is not supported for the data type " +
                         typeName(x.elementType()) +
                         "; expects int8, uint8, int16, uint16 or int32");
  if (!scale.isFloat())
    return context.error("expects a scale of floats, got " +
                         typeName(scale.elementType()));
  FailureOr<Type> type =
      namedType(context, "output_dtype", scale.elementType());
  if (failed(type))
    return failure();
  if (!isa<FloatType>(*type))
    return context.error("expects an output_dtype of floats, got " +
                         typeName(*type));
  FailureOr<Operand> factors = perElement(context, 1, x.shape());
  FailureOr<Operand> zero = failure();
  if (failed(factors) || failed(zero = zeroPoint(context, x.elementType())))
    return failure();
  Emitter::OneRounding one(emit);
  Type wide = emit.arithmeticType(*type);
  Operand centered = emit.cast(x, wide);
  if (*zero)
    centered = emit.binary<nn::SubOp>(centered, emit.cast(*zero, wide));
  Operand value = one.result(emit.cast(
      emit.binary<nn::MulOp>(centered, emit.cast(*factors, wide)), *type));
  value = emit.emit<nn::StopGradientOp>(value.type(), {value});
  std::optional<Source> source = sourceOf(emit, x);
  if (!source || !source->from->input.isFloat() ||
      !areEqual(source->from->scale, scale)) {
    context.set(0, value);
    return success();
  }
  const Operand &places = source->from->places;
  auto bound = [&](double number) {
    return emit.scalar(places.elementType(), number);
  };
  Operand inside = emit.binary<nn::AndOp>(
      emit.compare(nn::CompareKind::ge, places, bound(source->range.low)),
      emit.compare(nn::CompareKind::le, places, bound(source->range.high)));
  Operand through = emit.select(inside, emit.cast(source->from->input, *type),
                                emit.scalar(*type, 0));
  context.set(0,
              emit.emit<nn::StraightThroughOp>(value.type(), {value, through}));
  return success();
}

/// To uint8, so that 0 and all that there is lies within.
LogicalResult dynamicQuantizeLinear(NodeContext &context) {
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  Type element = x.elementType(),
       integers = emit.attributes().getIntegerType(8, false);
  auto number = [&](double value) { return emit.scalar(element, value); };
  Shape dims;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    dims.push_back(dim);
  Operand fixed = emit.emit<nn::StopGradientOp>(x.type(), {x});
  Operand low = emit.binary<nn::MinOp>(
      emit.reshape(emit.reduce<nn::ReduceMinOp>(fixed, dims), {}), number(0));
  Operand high = emit.binary<nn::MaxOp>(
      emit.reshape(emit.reduce<nn::ReduceMaxOp>(fixed, dims), {}), number(0));
  const Range range = *rangeOf(integers);
  Operand scale = emit.binary<nn::DivOp>(emit.binary<nn::SubOp>(high, low),
                                         number(range.high));
  // Nothing but zeros.
  scale = emit.select(emit.compare(nn::CompareKind::eq, scale, number(0)),
                      number(1), scale);
  Operand zero = emit.unary<nn::RoundOp>(
      emit.binary<nn::DivOp>(emit.binary<nn::SubOp>(number(0), low), scale));
  zero = emit.cast(
      emit.binary<nn::MinOp>(emit.binary<nn::MaxOp>(zero, number(range.low)),
                             number(range.high)),
      integers);
  context.set(0, quantized(emit, x, scale, scale, zero, integers));
  context.set(1, scale);
  context.set(2, zero);
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::quantizeDecoders() {
  static constexpr Decoder decoders[] = {
      {"DequantizeLinear", 10, 2, 3, dequantizeLinear},
      {"DynamicQuantizeLinear", 11, 1, 1, dynamicQuantizeLinear},
      {"QuantizeLinear", 10, 2, 3, quantizeLinear},
  };
  return decoders;
}

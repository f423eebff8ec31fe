// What becomes of numbers that are drawn.
#include "frontend/onnx/Drawn.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

std::optional<double> numberOf(const Operand &operand) {
  if (!operand.isConstant() || !operand.isFloat())
    return std::nullopt;
  nn::HostTensor compact = operand.host().compact();
  if (compact.elements() == 0 || compact.elements() > Emitter::maxElements)
    return std::nullopt;
  auto elements = compact.toFloats();
  if (!llvm::all_equal(elements))
    return std::nullopt;
  return asWritten(elements.front());
}

namespace {

LogicalResult unsupported(NodeContext &context) {
  return context.error(
      "takes numbers that are drawn; supported are dropout and drop path: "
      "arithmetic with a number, a comparison with one, Floor of what is in "
      "[0, 2), and casts of these");
}

std::shared_ptr<const Drawn> changed(Drawn drawn) {
  return std::make_shared<const Drawn>(std::move(drawn));
}

/// Ones, of which the event leaves those where it is true, divided by its
/// probability; in evaluations all of them, as they are.
Operand kept(Emitter &emit, const Drawn &drawn, double rate) {
  Operand ones =
      emit.splat(drawn.type.getShape(), drawn.type.getElementType(), 1);
  SmallVector<NamedAttribute> attributes = {
      emit.named("rate", emit.attributes().getF64FloatAttr(rate)),
      emit.named("site", drawn.site)};
  if (drawn.isBySample)
    attributes.push_back(emit.flag("samples_first"));
  return emit.emit<nn::DropoutOp>(drawn.type, {emit.materialize(ones)},
                                  attributes);
}

double rateOf(const DrawnEvent &event) {
  return asWritten(static_cast<float>(1 - event.probability));
}

/// Whether the site's event is this one; else it is its opposite.
FailureOr<bool> isAsked(NodeContext &context, const Drawn &drawn) {
  std::optional<DrawnEvent> &asked = *drawn.asked;
  if (!asked)
    asked = drawn.event;
  constexpr double same = 1e-9;
  const DrawnEvent &event = *drawn.event;
  bool isSame = event.isBelow == asked->isBelow;
  double wanted = isSame ? asked->probability : 1 - asked->probability;
  if (std::abs(event.probability - wanted) > same)
    return context.error("compares drawn numbers with another number than a "
                         "node before it; one is supported");
  return isSame;
}

/// `position`: that of the drawn operand.
LogicalResult arithmetic(NodeContext &context, size_t position) {
  std::optional<double> number = numberOf(context.input(1 - position));
  const Drawn &drawn = context.input(position).drawn();
  StringRef op = context.node.proto->op_type();
  if (!number || drawn.event || (op == "Div" && position == 1) ||
      (op == "Div" && *number == 0))
    return unsupported(context);
  auto apply = [&](double x) {
    if (op == "Add")
      return x + *number;
    if (op == "Mul")
      return x * *number;
    if (op == "Div")
      return x / *number;
    return position == 0 ? x - *number : *number - x;
  };
  Drawn result = drawn;
  result.low = apply(drawn.low), result.high = apply(drawn.high);
  context.set(0, changed(std::move(result)));
  return success();
}

/// The event that the numbers are below `bound`, or not below it.
LogicalResult setEvent(NodeContext &context, const Drawn &drawn, double bound,
                       bool isBelow) {
  double width = drawn.high - drawn.low;
  if (width == 0)
    return unsupported(context);
  double place = (bound - drawn.low) / width;
  DrawnEvent event = {isBelow == (width > 0), 0};
  event.probability = event.isBelow ? place : 1 - place;
  if (event.probability <= 0 || event.probability >= 1) {
    Type boolean = context.emit.attributes().getI1Type();
    context.set(0, context.emit.splat(drawn.type.getShape(), boolean,
                                      event.probability >= 1));
    return success();
  }
  Drawn result = drawn;
  result.event = event;
  context.set(0, changed(std::move(result)));
  return success();
}

LogicalResult compare(NodeContext &context, size_t position) {
  std::optional<double> bound = numberOf(context.input(1 - position));
  const Drawn &drawn = context.input(position).drawn();
  if (!bound || drawn.event)
    return unsupported(context);
  bool isLess = context.node.proto->op_type().starts_with("Less");
  return setEvent(context, drawn, *bound, isLess == (position == 0));
}

/// Of numbers in [0, 2): whether they are not below 1.
LogicalResult floor(NodeContext &context) {
  const Drawn &drawn = context.input(0).drawn();
  double least = std::min(drawn.low, drawn.high),
         most = std::max(drawn.low, drawn.high);
  if (drawn.event || least < 0 || most > 2)
    return unsupported(context);
  Type element = drawn.type.getElementType();
  if (most <= 1 || least >= 1) {
    context.set(0,
                context.emit.splat(drawn.type.getShape(), element, least >= 1));
    return success();
  }
  if (failed(setEvent(context, drawn, 1, /*isBelow=*/false)))
    return failure();
  return setDrawnMask(context, context.results()[0].drawn(), element);
}

LogicalResult cast(NodeContext &context, Type element) {
  const Drawn &drawn = context.input(0).drawn();
  if (!element || (!isa<FloatType>(element) && !drawn.event))
    return unsupported(context);
  if (!isa<FloatType>(element)) {
    FailureOr<Operand> boolean = drawnBoolean(context, drawn);
    if (failed(boolean))
      return failure();
    context.set(0, context.emit.cast(*boolean, element));
    return success();
  }
  if (drawn.event)
    return setDrawnMask(context, drawn, element);
  Drawn result = drawn;
  result.type = context.emit.typeOf(drawn.type.getShape(), element);
  context.set(0, changed(std::move(result)));
  return success();
}

} // namespace

LogicalResult setDrawnMask(NodeContext &context, const Drawn &drawn,
                           Type element) {
  FailureOr<bool> asked = isAsked(context, drawn);
  if (failed(asked))
    return failure();
  Emitter &emit = context.emit;
  Drawn as = drawn;
  as.type = emit.typeOf(drawn.type.getShape(), element);
  double rate = rateOf(**drawn.asked);
  Operand mask = emit.binary<nn::MulOp>(kept(emit, as, rate),
                                        emit.scalar(element, 1 - rate));
  context.set(
      0, *asked ? mask : emit.binary<nn::SubOp>(emit.scalar(element, 1), mask));
  return success();
}

bool takesDrawn(StringRef op) {
  return llvm::is_contained({"Add", "Sub", "Mul", "Div", "Floor", "Cast",
                             "CastLike", "Not", "Identity", "Less",
                             "LessOrEqual", "Greater", "GreaterOrEqual"},
                            op);
}

FailureOr<Operand> drawnBoolean(NodeContext &context, const Drawn &drawn) {
  FailureOr<bool> asked = isAsked(context, drawn);
  if (failed(asked))
    return failure();
  Emitter &emit = context.emit;
  return emit.compare(*asked ? nn::CompareKind::gt : nn::CompareKind::le,
                      kept(emit, drawn, rateOf(**drawn.asked)),
                      emit.scalar(drawn.type.getElementType(), 0));
}

LogicalResult decodeDrawn(NodeContext &context) {
  StringRef op = context.node.proto->op_type();
  if (!takesDrawn(op))
    return unsupported(context);
  size_t position = context.input(0).isDrawn() ? 0 : 1;
  if (op == "CastLike" && position == 1) {
    context.set(
        0, context.emit.cast(context.input(0), context.input(1).elementType()));
    return success();
  }
  if (op == "Cast" || op == "CastLike")
    return cast(context,
                op == "Cast"
                    ? elementType(context.emit.attributes().getContext(),
                                  int(context.intAttribute("to", 0)))
                    : context.input(1).elementType());
  const Operand &input = context.input(position);
  if (op == "Identity") {
    context.set(0, input);
    return success();
  }
  if (op == "Not") {
    Drawn opposite = input.drawn();
    if (!opposite.event)
      return unsupported(context);
    opposite.event = {!opposite.event->isBelow,
                      1 - opposite.event->probability};
    context.set(0, changed(std::move(opposite)));
    return success();
  }
  if (op == "Floor")
    return floor(context);
  if (context.inputCount() != 2 || context.input(1 - position).isDrawn())
    return unsupported(context);
  return op.starts_with("Less") || op.starts_with("Greater")
             ? compare(context, position)
             : arithmetic(context, position);
}

} // namespace shardc::onnx

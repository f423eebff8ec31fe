// What becomes of numbers that are drawn.
#include "frontend/onnx/decode/Drawn.h"

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
      emit.named("site", drawn.site->number)};
  if (drawn.site->isBySample)
    attributes.push_back(emit.flag("samples_first"));
  return emit.emit<nn::DropoutOp>(drawn.type, {emit.materialize(ones)},
                                  attributes);
}

double rateOf(const DrawnEvent &event) {
  return asWritten(static_cast<float>(1 - event.probability));
}

/// Whether the site's event is this one; else it is its opposite.
FailureOr<bool> isAsked(NodeContext &context, const Drawn &drawn) {
  std::optional<DrawnEvent> &asked = drawn.site->asked;
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

/// The numbers of a site that no mask is made of.
const Operand &numbersOf(Emitter &emit, DrawnSite &site) {
  if (!site.numbers)
    site.numbers = drawNumbers(emit, site, nn::Distribution::uniform);
  return site.numbers;
}

/// The event as a boolean. Nothing says that what it chooses is kept by it: it
/// is drawn in evaluations, too, but where the site's masks are not.
FailureOr<Operand> drawnBoolean(NodeContext &context, const Drawn &drawn) {
  Emitter &emit = context.emit;
  if (!drawn.site->asked) {
    const Operand &numbers = numbersOf(emit, *drawn.site);
    const DrawnEvent &event = *drawn.event;
    double bound = event.isBelow ? event.probability : 1 - event.probability;
    return emit.compare(event.isBelow ? nn::CompareKind::lt
                                      : nn::CompareKind::ge,
                        numbers, emit.scalar(numbers.elementType(), bound));
  }
  FailureOr<bool> asked = isAsked(context, drawn);
  if (failed(asked))
    return failure();
  return emit.compare(*asked ? nn::CompareKind::gt : nn::CompareKind::le,
                      kept(emit, drawn, rateOf(*drawn.site->asked)),
                      emit.scalar(drawn.type.getElementType(), 0));
}

/// With a number; `position`: that of the drawn operand.
void arithmetic(NodeContext &context, size_t position) {
  const double number = *numberOf(context.input(1 - position));
  StringRef op = context.node.proto->op_type();
  auto apply = [&](double x) {
    if (op == "Add")
      return x + number;
    if (op == "Mul")
      return x * number;
    if (op == "Div")
      return x / number;
    return position == 0 ? x - number : number - x;
  };
  Drawn result = context.input(position).drawn();
  result.low = apply(result.low), result.high = apply(result.high);
  context.set(0, changed(std::move(result)));
}

/// The event that the numbers are below `bound`, or not below it.
void setEvent(NodeContext &context, const Drawn &drawn, double bound,
              bool isBelow) {
  double width = drawn.high - drawn.low;
  double place = (bound - drawn.low) / width;
  DrawnEvent event = {isBelow == (width > 0), 0};
  event.probability = event.isBelow ? place : 1 - place;
  if (event.probability <= 0 || event.probability >= 1) {
    Type boolean = context.emit.attributes().getI1Type();
    context.set(0, context.emit.splat(drawn.type.getShape(), boolean,
                                      event.probability >= 1));
    return;
  }
  Drawn result = drawn;
  result.event = event;
  context.set(0, changed(std::move(result)));
}

/// Of numbers in [0, 2]: whether they are not below 1.
LogicalResult floor(NodeContext &context) {
  const Drawn &drawn = context.input(0).drawn();
  Type element = drawn.type.getElementType();
  double least = std::min(drawn.low, drawn.high),
         most = std::max(drawn.low, drawn.high);
  if (most <= 1 || least >= 1) {
    context.set(0,
                context.emit.splat(drawn.type.getShape(), element, least >= 1));
    return success();
  }
  setEvent(context, drawn, 1, /*isBelow=*/false);
  return setDrawnMask(context, context.results()[0].drawn(), element);
}

/// What a Cast or CastLike makes of its first input.
Type castType(const NodeContext &context) {
  return context.node.proto->op_type() == "Cast"
             ? elementType(context.emit.attributes().getContext(),
                           int(context.intAttribute("to", 0)))
             : context.input(1).elementType();
}

LogicalResult cast(NodeContext &context) {
  const Drawn &drawn = context.input(0).drawn();
  Type element = castType(context);
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

bool isComparison(StringRef op) {
  return op.starts_with("Less") || op.starts_with("Greater");
}

} // namespace

/// 1 where the event is true, else 0; evaluations have its probability, but of
/// a site whose numbers have been read before.
static FailureOr<Operand> maskOf(NodeContext &context, const Drawn &drawn,
                                 Type element) {
  Emitter &emit = context.emit;
  if (drawn.site->numbers) {
    FailureOr<Operand> boolean = drawnBoolean(context, drawn);
    return failed(boolean) ? boolean : emit.cast(*boolean, element);
  }
  FailureOr<bool> asked = isAsked(context, drawn);
  if (failed(asked))
    return failure();
  Drawn as = drawn;
  as.type = emit.typeOf(drawn.type.getShape(), element);
  double rate = rateOf(*drawn.site->asked);
  Operand mask = emit.binary<nn::MulOp>(kept(emit, as, rate),
                                        emit.scalar(element, 1 - rate));
  return *asked ? mask : emit.binary<nn::SubOp>(emit.scalar(element, 1), mask);
}

LogicalResult setDrawnMask(NodeContext &context, const Drawn &drawn,
                           Type element) {
  FailureOr<Operand> mask = maskOf(context, drawn, element);
  if (failed(mask))
    return failure();
  context.set(0, *mask);
  return success();
}

/// The operand of a Where that an event keeps: 1 or 2, where the other one is
/// zeros of floats; else 0.
static unsigned keptByWhere(const NodeContext &context) {
  auto isZero = [&](size_t position) {
    const Operand &operand = context.input(position);
    return !operand.isDrawn() && numberOf(operand) == 0.0;
  };
  if (context.input(1).isDrawn() || context.input(2).isDrawn() ||
      !context.input(1).isFloat())
    return 0;
  return isZero(2) ? 1 : isZero(1) ? 2 : 0;
}

/// What masked_fill and torch.where make dropout of: the other operand is times
/// a mask.
static LogicalResult decodeWhere(NodeContext &context) {
  unsigned position = keptByWhere(context);
  Drawn drawn = context.input(0).drawn();
  if (position == 2)
    drawn.event = drawn.event->opposite();
  const Operand &kept = context.input(position);
  FailureOr<Operand> mask = maskOf(context, drawn, kept.elementType());
  if (failed(mask))
    return failure();
  std::optional<Shape> shape =
      Emitter::broadcastShape({*mask, context.input(1), context.input(2)});
  if (!shape)
    return context.error("expects operands whose shapes can be broadcast");
  Emitter &emit = context.emit;
  context.set(0, emit.binary<nn::MulOp>(emit.broadcast(kept, *shape), *mask));
  return success();
}

std::shared_ptr<DrawnSite> makeSite(Emitter &emit, RankedTensorType type,
                                    const Operand &like) {
  auto site = std::make_shared<DrawnSite>();
  site->type = type;
  site->number = emit.nextSite();
  if (like && !like.isConstant() && !like.isDrawn() &&
      like.shape() == type.getShape())
    site->like = like;
  site->isBySample = type.getRank() > 0 && type.getDimSize(0) > 0 &&
                     type.getDimSize(0) == emit.samples();
  return site;
}

Operand drawNumbers(Emitter &emit, const DrawnSite &site,
                    nn::Distribution distribution) {
  SmallVector<Operand> operands;
  SmallVector<NamedAttribute> attributes = {
      emit.named("distribution",
                 nn::DistributionAttr::get(emit.attributes().getContext(),
                                           distribution)),
      emit.named("site", site.number),
      emit.named("operandSegmentSizes",
                 emit.attributes().getDenseI32ArrayAttr({bool(site.like), 0}))};
  if (site.like)
    operands.push_back(site.like);
  else if (site.isBySample)
    attributes.push_back(emit.flag("samples_first"));
  return emit.emit<nn::DrawOp>(site.type, operands, attributes);
}

std::optional<Operand> valuesOf(Emitter &emit, const Drawn &drawn) {
  DrawnSite &site = *drawn.site;
  if (site.asked || drawn.event)
    return std::nullopt;
  Type element = drawn.type.getElementType();
  Operand numbers = emit.cast(numbersOf(emit, site), element);
  if (drawn.low == 0 && drawn.high == 1)
    return numbers;
  Operand wide = emit.binary<nn::MulOp>(
      numbers, emit.scalar(element, drawn.high - drawn.low));
  return emit.binary<nn::AddOp>(wide, emit.scalar(element, drawn.low));
}

/// Whether decodeDrawn decodes a node with this drawn input.
static bool takesDrawn(const NodeContext &context, size_t position) {
  const Drawn &drawn = context.input(position).drawn();
  StringRef op = context.node.proto->op_type();
  if (op == "Identity")
    return true;
  if (op == "Cast" || op == "CastLike") {
    if (position == 1) // for its type alone
      return true;
    Type element = castType(context);
    return element && (drawn.event || isa<FloatType>(element));
  }
  if (drawn.event)
    return op == "Not" || (op == "Where" && keptByWhere(context) != 0);
  if (drawn.site->numbers || drawn.low == drawn.high)
    return false;
  if (op == "Floor")
    return std::min(drawn.low, drawn.high) >= 0 &&
           std::max(drawn.low, drawn.high) <= 2;
  if (!isComparison(op) &&
      !llvm::is_contained({"Add", "Sub", "Mul", "Div"}, op))
    return false;
  const Operand &other = context.input(1 - position);
  std::optional<double> number =
      other && !other.isDrawn() ? numberOf(other) : std::nullopt;
  return number && !(op == "Div" && (position == 1 || *number == 0)) &&
         !(op == "Mul" && *number == 0);
}

FailureOr<Operand> takenDrawn(NodeContext &context, size_t position) {
  const Operand &input = context.input(position);
  if (takesDrawn(context, position))
    return input;
  if (input.drawn().event)
    return drawnBoolean(context, input.drawn());
  if (std::optional<Operand> values = valuesOf(context.emit, input.drawn()))
    return *values;
  return context.error("takes numbers that are drawn, which a node before it "
                       "compares with a number, as dropout does; supported is "
                       "one or the other");
}

LogicalResult decodeDrawn(NodeContext &context) {
  StringRef op = context.node.proto->op_type();
  size_t position = context.input(0).isDrawn() ? 0 : 1;
  const Operand &input = context.input(position);
  if (op == "CastLike" && position == 1) {
    context.set(0, context.emit.cast(context.input(0), input.elementType()));
  } else if (op == "Cast" || op == "CastLike") {
    return cast(context);
  } else if (op == "Identity") {
    context.set(0, input);
  } else if (op == "Not") {
    Drawn opposite = input.drawn();
    opposite.event = opposite.event->opposite();
    context.set(0, changed(std::move(opposite)));
  } else if (op == "Where") {
    return decodeWhere(context);
  } else if (op == "Floor") {
    return floor(context);
  } else if (isComparison(op)) {
    setEvent(context, input.drawn(), *numberOf(context.input(1 - position)),
             op.starts_with("Less") == (position == 0));
  } else {
    arithmetic(context, position);
  }
  return success();
}

} // namespace shardc::onnx

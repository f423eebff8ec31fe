// Ops that draw numbers. Their sites are counted as they are decoded.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Drawn.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// What is not constant to the compiler: its value is drawn in every step.
Operand drawn(Emitter &emit, const Operand &input, double rate, int64_t site) {
  return emit.emit<nn::DropoutOp>(
      input.type(), {emit.materialize(input)},
      {emit.named("rate", emit.attributes().getF64FloatAttr(rate)),
       emit.named("site", site)});
}

/// torch's exporters write the dropout of scaled_dot_product_attention so, and
/// only in train mode, where PyTorch drops.
void warnOfMissingMode(NodeContext &context) {
  if (!context.has(1) || context.has(2) || !context.input(1).isConstant() ||
      !context.input(1).isFloat() || context.input(1).host().elements() != 1 ||
      context.input(1).host().floatAt(int64_t(0)) == 0 ||
      !context.emit.isFirst("dropout without training_mode"))
    return;
  context.warning(
      "has a ratio and no training_mode, so by ONNX it drops nothing, and so "
      "do others like it; where the model should drop there, as "
      "scaled_dot_product_attention does, export with shardc export or "
      "attn_implementation=\"eager\"");
}

/// Before opset 12, which brought training_mode: nothing is dropped.
LogicalResult inferredDropout(NodeContext &context) {
  if (context.emit.isFirst("old dropout"))
    context.warning(
        "drops nothing, as others like it: before opset 12 there is "
        "no training mode; export with a later opset to train with "
        "dropout");
  const Operand &input = context.input(0);
  context.set(0, input);
  context.set(1, context.emit.splat(input.shape(),
                                    context.emit.attributes().getI1Type(), 1));
  return success();
}

LogicalResult dropout(NodeContext &context) {
  Emitter &emit = context.emit;
  const Operand &input = context.input(0);
  bool training = false;
  if (context.has(2)) {
    FailureOr<double> flag = context.constantFloat(2, "training_mode");
    if (failed(flag))
      return failure();
    training = *flag != 0;
  }
  warnOfMissingMode(context);
  double rate = 0.5;
  if (training && context.has(1)) {
    FailureOr<double> given = context.constantFloat(1, "ratio");
    if (failed(given))
      return failure();
    rate = asWritten(*given);
    if (!(rate >= 0 && rate <= 1))
      return context.error("expects a ratio in [0, 1], got " +
                           std::to_string(rate));
  }
  if (!training || rate == 0) {
    context.set(0, input);
    context.set(1, emit.splat(input.shape(), emit.attributes().getI1Type(), 1));
    return success();
  }
  if (failed(context.expectFloat(0)))
    return failure();
  const int64_t site = emit.nextSite();
  context.set(0, drawn(emit, input, rate, site));
  // The mask is what the same site leaves of ones.
  if (context.wants(1))
    context.set(
        1, emit.compare(nn::CompareKind::gt,
                        drawn(emit,
                              emit.splat(input.shape(), input.elementType(), 1),
                              rate, site),
                        emit.scalar(input.elementType(), 0)));
  return success();
}

/// The type that `dtype` names, or `otherwise`.
FailureOr<Type> drawnType(NodeContext &context, Type otherwise) {
  Type element = otherwise;
  if (int64_t dtype = context.intAttribute("dtype", 0))
    element = elementType(context.emit.attributes().getContext(), int(dtype));
  if (!element || !isa<FloatType>(element))
    return context.error("draws numbers of another type than floats");
  return element;
}

/// Numbers that nobody has seen, of this shape.
Drawn uniform(NodeContext &context, ArrayRef<int64_t> shape, Type element,
              const Operand &like = {}) {
  Emitter &emit = context.emit;
  Drawn drawn;
  drawn.type = emit.typeOf(shape, element);
  drawn.site = makeSite(emit, drawn.type, like);
  return drawn;
}

/// The shape that an attribute gives, or that of an input.
FailureOr<Shape> drawnShape(NodeContext &context) {
  if (context.inputCount() > 0)
    return Shape(context.input(0).shape());
  Shape shape = context.intsAttribute("shape").value_or(Shape());
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return context.error("expects a shape of sizes that are not negative");
  if (failed(context.checkShape(shape)))
    return failure();
  return shape;
}

Type defaultType(NodeContext &context) {
  return context.inputCount() > 0 ? context.input(0).elementType()
                                  : context.emit.attributes().getF32Type();
}

Operand likeOf(NodeContext &context) {
  return context.inputCount() > 0 ? context.input(0) : Operand();
}

/// RandomUniform and RandomUniformLike. What is made of these numbers is an
/// event (Drawn.h), or else they are values. A `seed` is the run's.
LogicalResult uniformNumbers(NodeContext &context) {
  FailureOr<Type> element = drawnType(context, defaultType(context));
  FailureOr<Shape> shape = drawnShape(context);
  if (failed(element) || failed(shape))
    return failure();
  Drawn drawn = uniform(context, *shape, *element, likeOf(context));
  drawn.low = context.decimalAttribute("low", 0);
  drawn.high = context.decimalAttribute("high", 1);
  context.set(0, std::make_shared<const Drawn>(std::move(drawn)));
  return success();
}

/// RandomNormal and RandomNormalLike.
LogicalResult normalNumbers(NodeContext &context) {
  FailureOr<Type> element = drawnType(context, defaultType(context));
  FailureOr<Shape> shape = drawnShape(context);
  if (failed(element) || failed(shape))
    return failure();
  Emitter &emit = context.emit;
  auto site = makeSite(emit, emit.typeOf(*shape, *element), likeOf(context));
  auto parameter = [&](StringRef name, float standard) {
    return emit.scalar(*element, context.decimalAttribute(name, standard));
  };
  Operand spread =
      emit.binary<nn::MulOp>(drawNumbers(emit, *site, nn::Distribution::normal),
                             parameter("scale", 1));
  context.set(0, emit.binary<nn::AddOp>(spread, parameter("mean", 0)));
  return success();
}

/// Ones with a probability: one for all, or one for each.
LogicalResult bernoulli(NodeContext &context) {
  FailureOr<Type> element = drawnType(context, context.input(0).elementType());
  if (failed(element))
    return failure();
  Emitter &emit = context.emit;
  const Operand &given = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  std::optional<double> probability = numberOf(given);
  if (!probability) {
    auto site = makeSite(emit, given.type(), given);
    Operand numbers = drawNumbers(emit, *site, nn::Distribution::uniform);
    context.set(0, emit.cast(emit.compare(nn::CompareKind::lt, numbers, given),
                             *element));
    return success();
  }
  if (!(*probability >= 0 && *probability <= 1))
    return context.error("expects a probability in [0, 1], got " +
                         std::to_string(*probability));
  if (*probability == 0 || *probability == 1) {
    context.set(0, emit.splat(given.shape(), *element, *probability));
    return success();
  }
  Drawn drawn = uniform(context, given.shape(), *element);
  drawn.event = {false, *probability};
  return setDrawnMask(context, drawn, *element);
}

} // namespace

ArrayRef<Decoder> shardc::onnx::randomDecoders() {
  static constexpr Decoder decoders[] = {
      {"Bernoulli", 15, 1, 1, bernoulli},
      {"Dropout", 7, 1, 1, inferredDropout},
      {"Dropout", 12, 1, 3, dropout},
      {"RandomNormal", 1, 0, 0, normalNumbers},
      {"RandomNormalLike", 1, 1, 1, normalNumbers},
      {"RandomUniform", 1, 0, 0, uniformNumbers},
      {"RandomUniformLike", 1, 1, 1, uniformNumbers},
  };
  return decoders;
}

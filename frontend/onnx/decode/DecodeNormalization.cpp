// Softmax and the norms. nn's work over the last dim; others are transposed or
// flattened to it.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// Before opset 13: over all dims from the axis on.
template <typename Op> LogicalResult softmaxFrom(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<int64_t> axis = context.axis(context.intAttribute("axis", 1),
                                         std::max<int64_t>(input.rank(), 1));
  if (failed(axis) || failed(context.expectFloat(0)))
    return failure();
  int64_t columns = 1;
  for (int64_t size : input.shape().drop_front(*axis))
    columns *= size;
  Emitter &emit = context.emit;
  Operand rows = emit.reshape(
      input,
      {input.type().getNumElements() / std::max<int64_t>(columns, 1), columns});
  context.set(0, emit.reshape(emit.unary<Op>(rows), input.shape()));
  return success();
}

template <typename Op> LogicalResult softmax(NodeContext &context) {
  const Operand &input = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  FailureOr<int64_t> axis = context.axis(context.intAttribute("axis", -1),
                                         std::max<int64_t>(input.rank(), 1));
  if (failed(axis))
    return failure();
  Emitter &emit = context.emit;
  if (input.rank() == 0) {
    context.set(0, emit.reshape(emit.unary<Op>(emit.reshape(input, {1})), {}));
    return success();
  }
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  std::swap(permutation[*axis], permutation.back());
  context.set(0,
              emit.transpose(emit.unary<Op>(emit.transpose(input, permutation)),
                             permutation));
  return success();
}

/// The normalized dims [axis, rank) as one, and scale or bias of that size.
struct NormalizedView {
  Operand input;
  Shape outer; ///< dims before axis
  int64_t inner = 1;
};

FailureOr<NormalizedView> normalizedView(NodeContext &context) {
  const Operand &input = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -1), input.rank());
  if (failed(axis))
    return failure();
  NormalizedView view;
  view.outer = Shape(input.shape().take_front(*axis));
  for (int64_t size : input.shape().drop_front(*axis))
    view.inner *= size;
  Shape flat(view.outer);
  flat.push_back(view.inner);
  view.input = context.emit.reshape(input, flat);
  return view;
}

/// Scale or bias as a vector; they may broadcast over the normalized dims.
FailureOr<Operand> normalizedVector(NodeContext &context, size_t i,
                                    const NormalizedView &view) {
  ArrayRef<int64_t> normalized =
      context.input(0).shape().drop_front(view.outer.size());
  Operand vector =
      context.emit.cast(context.input(i), context.input(0).elementType());
  // Dims in front of the normalized ones may be there with size 1.
  Shape shape(vector.shape());
  while (shape.size() > normalized.size() && shape.front() == 1)
    shape.erase(shape.begin());
  vector = context.emit.reshape(
      vector, shape.size() > normalized.size() ? Shape(vector.shape()) : shape);
  Operand like =
      context.emit.splat(normalized, context.input(0).elementType(), 0);
  FailureOr<Shape> result = context.broadcastShape({vector, like});
  if (failed(result))
    return failure();
  if (ArrayRef<int64_t>(*result) != normalized)
    return context.error("expects input " + Twine(i) +
                         " to broadcast to the normalized dims");
  return context.emit.reshape(context.emit.broadcast(vector, normalized),
                              {view.inner});
}

/// Mean and inverse deviation of rows, as a model that reads them means them:
/// with gradients, which those that nn.layer_norm saves for itself do not have.
/// ONNX gives them in the type of stash_type, float32.
std::pair<Operand, Operand> statistics(Emitter &emit, const Operand &rows,
                                       double epsilon) {
  Emitter::OneRounding none(emit);
  Operand input = emit.cast(rows, emit.arithmeticType(rows.elementType()));
  Type element = input.elementType();
  int64_t last = input.rank() - 1;
  Operand mean = emit.reduce<nn::ReduceMeanOp>(input, {last});
  Operand centred = emit.binary<nn::SubOp>(input, mean);
  Operand variance = emit.reduce<nn::ReduceMeanOp>(
      emit.binary<nn::MulOp>(centred, centred), {last});
  Operand inverse = emit.unary<nn::ReciprocalOp>(emit.unary<nn::SqrtOp>(
      emit.binary<nn::AddOp>(variance, emit.scalar(element, epsilon))));
  Type stored = emit.attributes().getF32Type();
  return {emit.cast(mean, stored), emit.cast(inverse, stored)};
}

LogicalResult layerNormalization(NodeContext &context) {
  FailureOr<NormalizedView> view = normalizedView(context);
  if (failed(view))
    return failure();
  FailureOr<Operand> gamma = normalizedVector(context, 1, *view);
  if (failed(gamma))
    return failure();
  SmallVector<Operand> operands = {view->input, *gamma};
  if (context.has(2)) {
    FailureOr<Operand> beta = normalizedVector(context, 2, *view);
    if (failed(beta))
      return failure();
    operands.push_back(*beta);
  }
  Emitter &emit = context.emit;
  Shape rows(view->outer);
  rows.push_back(1);
  Type type = view->input.type(),
       rowType =
           emit.typeOf(rows, emit.arithmeticType(view->input.elementType()));
  auto epsilon =
      emit.named("epsilon", emit.attributes().getF64FloatAttr(
                                context.decimalAttribute("epsilon", 1e-5f)));
  SmallVector<Operand> results =
      emit.emit(nn::LayerNormOp::getOperationName(), {type, rowType, rowType},
                operands, {epsilon});
  context.set(0, emit.reshape(results[0], context.input(0).shape()));
  if (!context.wants(1) && !context.wants(2))
    return success();
  // Mean and inverse deviation keep the normalized dims with size 1.
  Shape kept(view->outer);
  kept.resize(context.input(0).rank(), 1);
  auto [mean, inverse] =
      statistics(emit, view->input, context.decimalAttribute("epsilon", 1e-5f));
  context.set(1, emit.reshape(mean, kept));
  context.set(2, emit.reshape(inverse, kept));
  return success();
}

LogicalResult rmsNormalization(NodeContext &context) {
  FailureOr<NormalizedView> view = normalizedView(context);
  if (failed(view))
    return failure();
  FailureOr<Operand> gamma = normalizedVector(context, 1, *view);
  if (failed(gamma))
    return failure();
  Emitter &emit = context.emit;
  Shape rows(view->outer);
  rows.push_back(1);
  Type type = view->input.type(),
       rowType =
           emit.typeOf(rows, emit.arithmeticType(view->input.elementType()));
  auto epsilon =
      emit.named("epsilon", emit.attributes().getF64FloatAttr(
                                context.decimalAttribute("epsilon", 1e-5f)));
  SmallVector<Operand> results =
      emit.emit(nn::RmsNormOp::getOperationName(), {type, rowType},
                {view->input, *gamma}, {epsilon});
  context.set(0, emit.reshape(results[0], context.input(0).shape()));
  return success();
}

/// x / norm(x) over one axis, p = 1 or 2. Zeros stay zeros, as constants: the
/// quotient has no derivative there.
LogicalResult lpNormalization(NodeContext &context) {
  const Operand &input = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -1), input.rank());
  int64_t p = context.intAttribute("p", 2);
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return context.error("expects p to be 1 or 2, got " + Twine(p));
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand powers = p == 1 ? emit.unary<nn::AbsOp>(input)
                          : emit.binary<nn::MulOp>(input, input);
  Operand sum = emit.reduce<nn::ReduceSumOp>(powers, {*axis});
  Operand zero = emit.scalar(input.elementType(), 0),
          unit = emit.scalar(input.elementType(), 1);
  Operand isZero = emit.compare(nn::CompareKind::eq, sum, zero);
  Operand norm = emit.select(isZero, unit, sum);
  if (p == 2)
    norm = emit.unary<nn::SqrtOp>(norm);
  context.set(0, one.result(emit.select(isZero, zero,
                                        emit.binary<nn::DivOp>(input, norm))));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::normalizationDecoders() {
  static constexpr Decoder decoders[] = {
      {"LayerNormalization", 17, 2, 3, layerNormalization},
      {"LogSoftmax", 1, 1, 1, softmaxFrom<nn::LogSoftmaxOp>},
      {"LogSoftmax", 13, 1, 1, softmax<nn::LogSoftmaxOp>},
      {"LpNormalization", 1, 1, 1, lpNormalization},
      {"RMSNormalization", 23, 2, 2, rmsNormalization},
      {"Softmax", 1, 1, 1, softmaxFrom<nn::SoftmaxOp>},
      {"Softmax", 13, 1, 1, softmax<nn::SoftmaxOp>},
  };
  return decoders;
}

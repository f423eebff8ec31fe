// Losses inside the graph. The plain case becomes nn.cross_entropy with scale =
// 1 / valid labels of this batch, or 1. What a node asked for stands in the
// attribute nn.reduction: numbers do not tell a mean over one label from a sum.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/graph/FxCall.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// What a loss node asks for; scores have the classes in the last dim.
struct LossNode {
  Operand scores, labels;
  std::optional<int64_t> ignoreIndex;
  StringRef reduction;
  /// Of each label, how much goes to all classes alike.
  double smoothing = 0;
};

/// PyTorch's exporter leaves the last argument of cross_entropy_loss(self,
/// target, weight, reduction, ignore_index, label_smoothing) out of the node.
FailureOr<double> smoothingOf(NodeContext &context) {
  FxCall call = fxCall(*context.node.proto);
  if (!call.target.starts_with("torch.ops.aten.cross_entropy_loss."))
    return 0;
  StringRef text = call.argument(5, "label_smoothing");
  double smoothing = 0;
  if (!text.empty() &&
      (text.getAsDouble(smoothing) || !(smoothing >= 0) || smoothing > 1))
    return context.error("expects the label_smoothing of its metadata to be a "
                         "number from 0 to 1, got '" +
                         text + "'");
  return smoothing;
}

FailureOr<StringRef> reductionOf(NodeContext &context) {
  StringRef reduction = context.stringAttribute("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return context.error(
        "reduction '" + reduction +
        "' is not supported; supported are 'mean', 'sum' and 'none'");
  return reduction;
}

/// [N, C, ...] as [N, ..., C].
Operand classesLast(Emitter &emit, const Operand &scores) {
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, scores.rank()));
  permutation.erase(permutation.begin() + 1);
  permutation.push_back(1);
  return emit.transpose(scores, permutation);
}

FailureOr<LossNode> lossNode(NodeContext &context) {
  Operand scores = context.input(0), labels = context.input(1);
  FailureOr<double> smoothing = smoothingOf(context);
  FailureOr<StringRef> reduction = reductionOf(context);
  if (failed(smoothing) || failed(reduction) || failed(context.expectFloat(0)))
    return failure();
  if (scores.rank() < 2 || labels.isFloat() ||
      labels.rank() != scores.rank() - 1)
    return context.error(
        "expects scores [N, C, ...] and integer labels [N, ...], got " +
        shapeText(scores.shape()) + " and " + typeName(labels.elementType()) +
        " " + shapeText(labels.shape()));
  LossNode loss;
  loss.smoothing = *smoothing;
  loss.reduction = *reduction;
  loss.scores = classesLast(context.emit, scores);
  loss.labels =
      labels.elementType().isInteger(32)
          ? labels
          : context.emit.cast(labels, context.emit.attributes().getI64Type());
  if (loss.scores.shape().drop_back() != labels.shape())
    return context.error("expects its labels to have the scores' dims without "
                         "the classes; check the --dim flags");
  if (const auto *ignored = context.attribute("ignore_index"))
    loss.ignoreIndex = ignored->i();
  return loss;
}

Operand constantLike(Emitter &emit, const Operand &like, int64_t value) {
  return emit.cast(emit.integer(value), like.elementType());
}

Operand total(Emitter &emit, const Operand &input) {
  return emit.reshape(
      emit.reduce<nn::ReduceSumOp>(
          input, llvm::to_vector(llvm::seq<int64_t>(0, input.rank()))),
      {});
}

/// The type that losses are computed in: sums of 16-bit values are formed in
/// float32, and rounded once.
Type lossType(Emitter &emit, const Operand &scores) {
  return scores.elementType().getIntOrFloatBitWidth() < 32
             ? Type(emit.attributes().getF32Type())
             : scores.elementType();
}

/// The weights of the classes in the type that losses are computed in; none
/// where all are 1.
FailureOr<Operand> classWeights(NodeContext &context, const LossNode &loss) {
  if (!context.has(2))
    return Operand();
  if (context.input(2).shape() !=
          ArrayRef<int64_t>{loss.scores.shape().back()} ||
      context.input(2).elementType() != loss.scores.elementType())
    return context.error(
        "expects one weight of the scores' type for each class");
  return context.emit.cast(context.input(2),
                           lossType(context.emit, loss.scores));
}

/// One where the label counts.
Operand validLabels(Emitter &emit, const LossNode &loss) {
  if (!loss.ignoreIndex)
    return emit.splat(loss.labels.shape(), emit.attributes().getI1Type(), 1);
  return emit.compare(nn::CompareKind::ne, loss.labels,
                      constantLike(emit, loss.labels, *loss.ignoreIndex));
}

/// What the labels weigh, those that do not count nothing. `safe`: the labels,
/// another one in place of these.
Operand weightsOfLabels(Emitter &emit, const Operand &valid,
                        const Operand &safe, const Operand &perClass) {
  Operand weight = emit.cast(valid, perClass.elementType());
  Operand ofClass = emit.emit<nn::GatherOp>(
      emit.typeOf(safe.shape(), perClass.elementType()), {perClass, safe},
      {emit.named("axis", int64_t(0))});
  return emit.binary<nn::MulOp>(weight, ofClass);
}

Operand safeLabels(Emitter &emit, const LossNode &loss, const Operand &valid) {
  return emit.select(valid, loss.labels, constantLike(emit, loss.labels, 0));
}

/// (1 - s) losses + s mean(-w log p) over all classes, where the label counts:
/// torch's aten::cross_entropy_loss_label_smoothing. `perClass`: w, if there are
/// weights.
Operand smoothed(Emitter &emit, const LossNode &loss,
                 const Operand &logProbabilities, const Operand &perClass,
                 const Operand &valid, const Operand &losses) {
  const Type element = logProbabilities.elementType();
  Operand all = perClass ? emit.binary<nn::MulOp>(logProbabilities, perClass)
                         : logProbabilities;
  all = emit.reshape(
      emit.reduce<nn::ReduceMeanOp>(all, {logProbabilities.rank() - 1}),
      Shape(losses.shape()));
  Operand uniform =
      emit.binary<nn::MulOp>(emit.binary<nn::MulOp>(all, valid),
                             emit.scalar(element, -loss.smoothing));
  return emit.binary<nn::AddOp>(
      emit.binary<nn::MulOp>(losses, emit.scalar(element, 1 - loss.smoothing)),
      uniform);
}

/// The loss of log probabilities, label by label, with the weights of the
/// classes if there are any.
LogicalResult likelihoodLoss(NodeContext &context, const LossNode &loss,
                             Operand logProbabilities) {
  Emitter &emit = context.emit;
  const Type stored = logProbabilities.elementType();
  const Type element = lossType(emit, logProbabilities);
  logProbabilities = emit.cast(logProbabilities, element);
  Operand valid = validLabels(emit, loss);
  Operand safe = safeLabels(emit, loss, valid);
  Shape tuples(safe.shape());
  tuples.push_back(1);
  Operand picked =
      emit.emit<nn::GatherNdOp>(emit.typeOf(safe.shape(), element),
                                {logProbabilities, emit.reshape(safe, tuples)},
                                {emit.named("batch_dims", safe.rank())});
  FailureOr<Operand> perClass = classWeights(context, loss);
  if (failed(perClass))
    return failure();
  Operand weight = *perClass ? weightsOfLabels(emit, valid, safe, *perClass)
                             : emit.cast(valid, element);
  Emitter::OneRounding one(emit);
  Operand losses = emit.unary<nn::NegOp>(picked);
  Operand result = emit.binary<nn::MulOp>(losses, weight);
  if (loss.smoothing > 0)
    result = smoothed(emit, loss, logProbabilities, *perClass,
                      emit.cast(valid, element), result);
  // Weights of 1 fold away, and so does a sum of one loss.
  if (loss.reduction == "sum")
    for (const Operand &each : {losses, result})
      if (!each.isConstant())
        each.value().getDefiningOp()->setDiscardableAttr(
            nn::reductionAttr, emit.attributes().getStringAttr(loss.reduction));
  if (loss.reduction != "none")
    result = total(emit, result);
  // A sum of given weights is not evaluated here, where it would be a float32
  // in float64 too.
  if (loss.reduction == "mean")
    result = emit.binary<nn::DivOp>(
        result,
        total(emit, context.has(2) ? emit.materialize(weight) : weight));
  context.set(0, one.result(emit.cast(one.result(result), stored)));
  return success();
}

/// PyTorch's cross_entropy of probabilities, which its exporters write as this
/// op, whose labels ONNX has as integers: the mean over all rows of -sum(w p log
/// softmax(scores)), whatever the weights are.
LogicalResult softCrossEntropyLoss(NodeContext &context) {
  Emitter &emit = context.emit;
  FailureOr<double> smoothing = smoothingOf(context);
  FailureOr<StringRef> reduction = reductionOf(context);
  if (failed(smoothing) || failed(reduction) || failed(context.expectFloat(0)))
    return failure();
  Operand scores = classesLast(emit, context.input(0)),
          target = classesLast(emit, context.input(1));
  const int64_t classes = scores.shape().back(), last = scores.rank() - 1;
  const Type stored = scores.elementType(), element = lossType(emit, scores);
  if (context.wants(1))
    return context.error(
        "has labels that are floats, and its log_prob is used; "
        "supported is the loss");
  target = emit.cast(target, element);
  Emitter::OneRounding one(emit);
  Operand likely = emit.unary<nn::LogSoftmaxOp>(emit.cast(scores, element));
  if (context.has(2)) {
    if (context.input(2).shape() != ArrayRef<int64_t>{classes})
      return context.error("expects one weight for each class");
    likely =
        emit.binary<nn::MulOp>(likely, emit.cast(context.input(2), element));
  }
  const Shape rows(scores.shape().drop_back());
  auto ofRows = [&](const Operand &reduced) {
    return emit.reshape(reduced, rows);
  };
  Operand result = ofRows(emit.reduce<nn::ReduceSumOp>(
      emit.binary<nn::MulOp>(target, likely), {last}));
  if (*smoothing > 0)
    result = emit.binary<nn::AddOp>(
        emit.binary<nn::MulOp>(result, emit.scalar(element, 1 - *smoothing)),
        emit.binary<nn::MulOp>(
            ofRows(emit.reduce<nn::ReduceMeanOp>(likely, {last})),
            emit.scalar(element, *smoothing)));
  result = emit.unary<nn::NegOp>(result);
  if (*reduction == "sum" && !result.isConstant())
    result.value().getDefiningOp()->setDiscardableAttr(
        nn::reductionAttr, emit.attributes().getStringAttr(*reduction));
  if (*reduction != "none")
    result = total(emit, result);
  if (*reduction == "mean")
    result = emit.binary<nn::DivOp>(
        result,
        emit.scalar(element, static_cast<double>(llvm::product_of(rows))));
  context.set(0, one.result(emit.cast(one.result(result), stored)));
  return success();
}

/// The cross entropy of logits.
LogicalResult crossEntropyLoss(NodeContext &context, const LossNode &loss) {
  Emitter &emit = context.emit;
  const Type element = lossType(emit, loss.scores);
  FailureOr<Operand> perClass = classWeights(context, loss);
  if (failed(perClass))
    return failure();
  // Weights that only the run knows cannot say what it divides by.
  if ((*perClass && !perClass->isConstant()) || loss.reduction == "none")
    return likelihoodLoss(context, loss,
                          emit.unary<nn::LogSoftmaxOp>(loss.scores));
  Operand scale = emit.scalar(element, 1);
  // Not evaluated here, where 1 / 12 would be a float32 in float64 too.
  if (loss.reduction == "mean") {
    Operand valid = validLabels(emit, loss);
    Operand weights =
        *perClass ? weightsOfLabels(emit, valid, safeLabels(emit, loss, valid),
                                    *perClass)
                  : emit.cast(valid, element);
    scale =
        emit.unary<nn::ReciprocalOp>(emit.materialize(total(emit, weights)));
  }
  SmallVector<Operand> operands = {loss.scores, loss.labels, scale};
  if (*perClass)
    operands.push_back(*perClass);
  Operand result = emit.emit<nn::CrossEntropyOp>(
      emit.typeOf({}, element), operands,
      {emit.named("ignore_index", loss.ignoreIndex.value_or(-100)),
       emit.named("shift", int64_t(0)),
       emit.attributes().getNamedAttr(
           "smoothing", emit.attributes().getF64FloatAttr(loss.smoothing)),
       emit.attributes().getNamedAttr(
           nn::reductionAttr,
           emit.attributes().getStringAttr(loss.reduction))});
  context.set(0, emit.cast(result, loss.scores.elementType()));
  return success();
}

LogicalResult softmaxCrossEntropyLoss(NodeContext &context) {
  if (context.input(1).isFloat() && context.input(0).rank() >= 2 &&
      context.input(1).shape() == context.input(0).shape())
    return softCrossEntropyLoss(context);
  FailureOr<LossNode> loss = lossNode(context);
  if (failed(loss))
    return failure();
  Emitter &emit = context.emit;
  if (context.wants(1)) {
    Shape permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, loss->scores.rank()));
    permutation.pop_back();
    permutation.insert(permutation.begin() + 1, loss->scores.rank() - 1);
    context.set(1, emit.transpose(emit.unary<nn::LogSoftmaxOp>(loss->scores),
                                  permutation));
  }
  return crossEntropyLoss(context, *loss);
}

/// What a LogSoftmax along the classes was given, of scores with these last;
/// none of other scores.
Operand logitsOf(const Operand &scores) {
  if (scores.isConstant())
    return {};
  auto likely = scores.value().getDefiningOp<nn::LogSoftmaxOp>();
  return likely ? Operand(likely.getInput()) : Operand();
}

/// With weights of the classes, of what a LogSoftmax gives it is a cross entropy,
/// which divides by what all labels of a step weigh.
LogicalResult negativeLogLikelihoodLoss(NodeContext &context) {
  FailureOr<LossNode> loss = lossNode(context);
  if (failed(loss))
    return failure();
  Operand logits = context.has(2) ? logitsOf(loss->scores) : Operand();
  if (!logits)
    return likelihoodLoss(context, *loss, loss->scores);
  loss->scores = logits;
  return crossEntropyLoss(context, *loss);
}

} // namespace

ArrayRef<Decoder> shardc::onnx::lossDecoders() {
  static constexpr Decoder decoders[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, 3, negativeLogLikelihoodLoss},
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, softmaxCrossEntropyLoss},
  };
  return decoders;
}

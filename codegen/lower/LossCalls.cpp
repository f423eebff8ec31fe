// Losses become calls.
#include "codegen/lower/CallModel.h"

using namespace mlir;

namespace shardc {

using View = step::View;

/// Where an evaluation counts the labels that a loss gets right, the place for
/// their number.
static std::optional<View> correctOf(Operation *op, EntryBuilder &entries) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (function.getName() != "eval" ||
      !op->getParentOfType<ModuleOp>()->hasAttr(nn::accuracyAttr))
    return std::nullopt;
  auto type = RankedTensorType::get({}, Float64Type::get(op->getContext()));
  View correct = View::contiguous({}, 0, type);
  correct.buffer =
      entries.newBuffer(step::Kind::activation, correct.spanBytes(), "correct");
  return correct;
}

/// Hands it to the trainer, behind the loss.
static void countCorrect(const std::optional<View> &correct,
                         EntryBuilder &entries) {
  if (correct)
    entries.emit<step::MetricOp>("correct", entries.ref(*correct));
}

/// The weights of classes, if there are any.
template <typename Op>
static std::optional<View> classWeightsOf(Op op, EntryBuilder &entries) {
  if (!op.getClassWeights())
    return std::nullopt;
  return entries.contiguous(op.getClassWeights());
}

static void crossEntropy(nn::CrossEntropyOp op, EntryBuilder &entries) {
  View logits = entries.contiguous(op.getLogits());
  View labels = entries.contiguous(op.getLabels());
  View scale = entries.view(op.getScale());
  std::optional<View> classWeights = classWeightsOf(op, entries);
  View loss = entries.allocate(op->getResult(0));
  View workspace = entries.newWorkspace(
      entries.workspaces().crossEntropy(labels.elements()));
  std::optional<View> correct = correctOf(op, entries);
  entries.emit<step::CrossEntropyOp>(
      entries.ref(logits), entries.ref(labels), entries.ref(scale),
      entries.ref(classWeights), entries.ref(loss), entries.ref(correct),
      entries.ref(workspace), op.getIgnoreIndex(), op.getShift(),
      op.getSmoothing());
  countCorrect(correct, entries);
}

static void crossEntropyGrad(nn::CrossEntropyGradOp op, EntryBuilder &entries) {
  View gradient = entries.view(op.getGradient());
  View logits = entries.contiguous(op.getLogits());
  View labels = entries.contiguous(op.getLabels());
  View scale = entries.view(op.getScale());
  std::optional<View> classWeights = classWeightsOf(op, entries);
  View result = entries.allocate(op->getResult(0));
  entries.emit<step::CrossEntropyGradOp>(
      entries.ref(gradient), entries.ref(logits), entries.ref(labels),
      entries.ref(scale), entries.ref(classWeights), entries.ref(result),
      op.getIgnoreIndex(), op.getShift(), op.getSmoothing());
}

// One entry makes the loss, and the gradients that somebody reads.
template <typename OpTy>
static void linearCrossEntropy(OpTy op, EntryBuilder &entries) {
  View input = entries.contiguous(op.getInput()),
       weight = entries.contiguous(op.getWeight());
  View labels = entries.contiguous(op.getLabels()),
       scale = entries.view(op.getScale());
  std::optional<View> bias, inputGradient, weightGradient, biasGradient;
  if (op.getBias())
    bias = entries.contiguous(op.getBias());
  std::optional<View> classWeights = classWeightsOf(op, entries);
  View loss = entries.allocate(cast<OpResult>(op.getLoss()));
  if constexpr (std::is_same_v<OpTy, nn::LinearCrossEntropyGradOp>) {
    auto allocated = [&](Value result) -> std::optional<View> {
      if (!result || result.use_empty())
        return std::nullopt;
      return entries.allocate(cast<OpResult>(result));
    };
    inputGradient = allocated(op.getInputGradient());
    weightGradient = allocated(op.getWeightGradient());
    biasGradient = allocated(op.getBiasGradient());
  }
  auto isNarrow = [](const std::optional<View> &view) {
    return view && nn::elementBytes(view->elementType) < 4;
  };
  step::LinearCrossEntropySizes sizes;
  sizes.rows = labels.elements();
  sizes.features = input.shape.back();
  sizes.classes = weight.shape[op.getTransposeWeight() ? 0 : 1];
  sizes.elementBytes = bytesOf(op.getInput());
  sizes.roundsWeightGradient = isNarrow(weightGradient);
  sizes.roundsBiasGradient = isNarrow(biasGradient);
  const step::Workspaces &workspaces = entries.workspaces();
  View workspace = entries.newWorkspace(workspaces.linearCrossEntropy(sizes));
  int64_t chunk = workspaces.linearCrossEntropyChunk(sizes);
  std::optional<View> correct = correctOf(op, entries);
  entries.emit<step::LinearCrossEntropyOp>(
      entries.ref(input), entries.ref(weight), entries.ref(bias),
      entries.ref(labels), entries.ref(scale), entries.ref(classWeights),
      entries.ref(loss), entries.ref(inputGradient),
      entries.ref(weightGradient), entries.ref(biasGradient),
      entries.ref(correct), entries.ref(workspace), chunk, op.getIgnoreIndex(),
      op.getShift(), op.getTransposeWeight(), op.getSoftcap(),
      op.getSmoothing());
  countCorrect(correct, entries);
}

void attachLossCalls(MLIRContext *context) {
  attachCall<nn::CrossEntropyOp, crossEntropy>(context);
  attachCall<nn::CrossEntropyGradOp, crossEntropyGrad>(context);
  attachCall<nn::LinearCrossEntropyOp, linearCrossEntropy>(context);
  attachCall<nn::LinearCrossEntropyGradOp, linearCrossEntropy>(context);
}

} // namespace shardc

// nn-attach-loss: makes @model return one scalar, the loss, and drops what does
// not feed it. What --loss says is parsed in analysis/LossOption.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"
#include "passes/Passes.h"
#include "passes/analyses/OwnLoss.h"
#include "passes/loss/ClassWeights.h"
#include "passes/loss/ElementLoss.h"
#include "passes/loss/Probabilities.h"
#include "passes/options/LossOption.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using shardc::runtime::LossMean;

namespace shardc {
#define GEN_PASS_DEF_NNATTACHLOSS
#include "passes/Passes.h.inc"

namespace {

std::string joinNames(ArrayRef<std::string> names) {
  return names.empty() ? "none" : llvm::join(names, ", ");
}

// The names of a function's arguments and results, and access by name.
struct Signature {
  func::FuncOp function;

  Operation *terminator() { return function.front().getTerminator(); }
  std::string inputName(unsigned i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, nn::nameAttr);
    return name ? name.str() : "arg" + std::to_string(i);
  }
  std::string outputName(unsigned i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, nn::nameAttr);
    return name ? name.str() : "result" + std::to_string(i);
  }
  SmallVector<std::string> inputNames() {
    return llvm::map_to_vector(llvm::seq(function.getNumArguments()),
                               [&](unsigned i) { return inputName(i); });
  }
  SmallVector<std::string> outputNames() {
    return llvm::map_to_vector(llvm::seq(function.getNumResults()),
                               [&](unsigned i) { return outputName(i); });
  }
  std::optional<unsigned> input(StringRef name) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (inputName(i) == name)
        return i;
    return std::nullopt;
  }
  Value output(StringRef name) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (outputName(i) == name)
        return terminator()->getOperand(i);
    return Value();
  }
  BlockArgument addInput(RankedTensorType type, StringRef name,
                         StringRef role) {
    Builder builder(function.getContext());
    unsigned index = function.getNumArguments();
    auto attributes = builder.getDictionaryAttr(
        {builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(name)),
         builder.getNamedAttr(nn::roleAttr, builder.getStringAttr(role))});
    (void)function.insertArgument(index, type, attributes, function.getLoc());
    return function.getArgument(index);
  }
};

struct NNAttachLoss : impl::NNAttachLossBase<NNAttachLoss> {
  using NNAttachLossBase::NNAttachLossBase;

  void runOnOperation() override;

private:
  LogicalResult attach(func::FuncOp function);
  // Says which --loss could be meant.
  LogicalResult noOwnLoss(Signature &signature);
  static bool isScalar(Value value) {
    auto type = raise::typeOf(value);
    return isa<FloatType>(type.getElementType()) && type.getNumElements() == 1;
  }
  static RankedTensorType scalarLike(Value value) {
    return RankedTensorType::get({}, raise::typeOf(value).getElementType());
  }

  static Value addScale(Signature &signature, Value like) {
    return signature.addInput(scalarLike(like), "loss_scale", "loss_scale");
  }

  // The labels or targets: an input of the graph, or a new one.
  FailureOr<Value> labelsInput(Signature &signature, StringRef flag,
                               StringRef name, RankedTensorType type);
  // What `nn.loss` says (docs/architecture.md).
  struct Description {
    StringRef kind, reduction = "mean";
    StringRef labels = "";
    int64_t ignoreIndex = 0, shift = 0, classes = 0;
    int64_t elements = 1; // of the labels or targets
    SmallVector<double> classWeights;
  };
  void describe(const Description &loss);
  FailureOr<Value> attachCrossEntropy(Signature &signature,
                                      const LossOption &option, Value logits,
                                      OpBuilder &builder);
  // The mean over the elements, or the rows, of ElementLoss.h.
  FailureOr<Value> attachElements(Signature &signature,
                                  const LossOption &option, Value output,
                                  OpBuilder &builder);
  // An output that evaluations keep has an element of each sample.
  LogicalResult checkOutput(Signature &signature, StringRef name, Value value);
  // The graph's own scalar. Where it is a cross entropy that says what it is
  // the mean or the sum of, it is that of all ranks and micro-batches; any
  // other scalar is averaged over them (docs/running.md, "Loss").
  FailureOr<Value> attachOutput(Signature &signature, const LossOption &option,
                                Value output, OpBuilder &builder);
  // logits[:, :-s] against labels[:, s:] of a [.., S] input -> shift = s, so
  // that the run can count the labels.
  static void undoShift(nn::CrossEntropyOp op, OpBuilder &builder);
  // Drops what does not feed the loss, and fuses the head with it.
  LogicalResult clean(func::FuncOp function);
};

} // namespace

void NNAttachLoss::runOnOperation() {
  auto function = getOperation().lookupSymbol<func::FuncOp>("model");
  if (!function || function.isExternal()) {
    emitError(getOperation().getLoc(), "expects a function @model");
    return signalPassFailure();
  }
  if (failed(attach(function)) || failed(clean(function)))
    signalPassFailure();
}

LogicalResult NNAttachLoss::noOwnLoss(Signature &signature) {
  std::string names = joinNames(signature.outputNames());
  for (auto [name, value] : llvm::zip_equal(
           signature.outputNames(), signature.terminator()->getOperands()))
    if (isScalar(value))
      return emitError(getOperation().getLoc())
             << "the model has several outputs (" << names
             << "), and which is the loss is not said; say --loss output:"
             << name;
  return emitError(getOperation().getLoc())
         << "the model has no loss of its own (outputs: " << names
         << "); say --loss cross-entropy:logits=NAME,labels=NAME, "
            "--loss mse:output=NAME,target=NAME, --loss output:NAME or another "
            "one of --help";
}

LogicalResult NNAttachLoss::attach(func::FuncOp function) {
  Signature signature{function};
  std::string text = loss;
  if (text.empty()) {
    if (function.getNumResults() != 1 ||
        !isScalar(signature.terminator()->getOperand(0)))
      return noOwnLoss(signature);
    text = "output:" + signature.outputName(0);
  }
  llvm::Expected<LossOption> option = LossOption::parse(text);
  if (!option)
    return emitError(getOperation().getLoc())
           << llvm::toString(option.takeError());
  Value output = signature.output(option->output);
  if (!output)
    return emitError(getOperation().getLoc())
           << "--loss: no output '" << option->output << "'; outputs are "
           << joinNames(signature.outputNames());
  if (!isa<FloatType>(raise::typeOf(output).getElementType()))
    return emitError(getOperation().getLoc())
           << "--loss: expects output '" << option->output
           << "' to hold floats, got " << output.getType();
  if (StringRef applied = appliedBeforeLoss(*option, output); !applied.empty())
    emitWarning(function.getLoc())
        << "--loss: output '" << option->output << "' is what a " << applied
        << " gives, and the loss applies one to it again: it takes logits";
  SmallVector<std::pair<std::string, Value>> kept;
  for (const std::string &name : outputs) {
    Value value = signature.output(name);
    if (!value)
      return emitError(getOperation().getLoc())
             << "--output-values: no output '" << name << "'; outputs are "
             << joinNames(signature.outputNames());
    if (failed(checkOutput(signature, name, value)))
      return failure();
    kept.emplace_back(name, value);
  }
  OpBuilder builder(signature.terminator());
  FailureOr<Value> scalar =
      option->kind->of == LossMean::Labels
          ? attachCrossEntropy(signature, *option, output, builder)
      : option->kind->of == LossMean::Batches
          ? attachOutput(signature, *option, output, builder)
          : attachElements(signature, *option, output, builder);
  if (failed(scalar))
    return failure();
  SmallVector<Value> results = {*scalar};
  SmallVector<DictionaryAttr> attributes = {builder.getDictionaryAttr(
      builder.getNamedAttr(nn::nameAttr, builder.getStringAttr("loss")))};
  for (auto [name, value] : kept) {
    results.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(name))));
  }
  if (accuracy) {
    auto described =
        getOperation()->getAttrOfType<DictionaryAttr>(nn::lossAttr);
    if (described.getAs<StringAttr>("kind") != "cross_entropy")
      return emitError(getOperation().getLoc())
             << "--metric accuracy: expects the loss to be a cross entropy of "
                "labels that are an input, got "
             << text;
    getOperation()->setAttr(nn::accuracyAttr, builder.getUnitAttr());
  }
  signature.terminator()->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
  // What makes the loss ends the forward pass, whatever outputs there are.
  if (Operation *last = scalar->getDefiningOp())
    last->moveBefore(signature.terminator());
  return success();
}

LogicalResult NNAttachLoss::checkOutput(Signature &signature, StringRef name,
                                        Value value) {
  int64_t batch = 0;
  for (BlockArgument argument : signature.function.getArguments())
    if (ArrayRef<int64_t> shape = raise::shapeOf(argument); !shape.empty())
      batch = batch ? batch : shape.front();
  ArrayRef<int64_t> shape = raise::shapeOf(value);
  if (shape.empty() || shape.front() != batch)
    return emitError(getOperation().getLoc())
           << "--output-values: expects output '" << name
           << "' to have the batch of " << batch << " as its first dim, got "
           << value.getType();
  if (!raise::View::of(value).base().getDefiningOp<nn::GetParameterOp>() &&
      !isa<BlockArgument>(raise::View::of(value).base()))
    return success();
  return emitError(getOperation().getLoc())
         << "--output-values: output '" << name
         << "' is an input or a parameter as it is";
}

FailureOr<Value> NNAttachLoss::labelsInput(Signature &signature, StringRef flag,
                                           StringRef name,
                                           RankedTensorType type) {
  auto existing = signature.input(name);
  if (!existing) {
    if (signature.output(name))
      return emitError(getOperation().getLoc())
             << "--loss: " << flag << "=" << name
             << " names an output; inputs are "
             << joinNames(signature.inputNames())
             << ", and any other name makes a new input";
    return Value(signature.addInput(type, name, "labels"));
  }
  Value argument = signature.function.getArgument(*existing);
  auto actual = raise::typeOf(argument);
  bool integers = type.getElementType().isInteger();
  if (actual.getShape() != type.getShape() ||
      (integers ? !actual.getElementType().isInteger(32) &&
                      !actual.getElementType().isInteger(64)
                : actual != type))
    return emitError(getOperation().getLoc())
           << "--loss: expects input '" << name << "' to be " << type
           << ", got " << actual;
  signature.function.setArgAttr(*existing, nn::roleAttr,
                                StringAttr::get(&getContext(), "labels"));
  return argument;
}

void NNAttachLoss::describe(const Description &loss) {
  Builder b(&getContext());
  SmallVector<NamedAttribute> attributes(
      {b.getNamedAttr("kind", b.getStringAttr(loss.kind)),
       b.getNamedAttr("reduction", b.getStringAttr(loss.reduction)),
       b.getNamedAttr("labels", b.getStringAttr(loss.labels)),
       b.getNamedAttr("ignore_index", b.getI64IntegerAttr(loss.ignoreIndex)),
       b.getNamedAttr("shift", b.getI64IntegerAttr(loss.shift)),
       b.getNamedAttr("classes", b.getI64IntegerAttr(loss.classes)),
       b.getNamedAttr("elements", b.getI64IntegerAttr(loss.elements))});
  if (!loss.classWeights.empty())
    attributes.push_back(b.getNamedAttr(
        "class_weights", b.getDenseF64ArrayAttr(loss.classWeights)));
  getOperation()->setAttr(nn::lossAttr, b.getDictionaryAttr(attributes));
}

FailureOr<Value> NNAttachLoss::attachCrossEntropy(Signature &signature,
                                                  const LossOption &option,
                                                  Value logits,
                                                  OpBuilder &builder) {
  ArrayRef<int64_t> shape = raise::shapeOf(logits);
  if (shape.size() < 2)
    return emitError(getOperation().getLoc())
           << "--loss: expects logits '" << option.output
           << "' to have at least 2 dims, got " << logits.getType();
  if (shape.back() < 2)
    return emitError(getOperation().getLoc())
           << "--loss: expects logits '" << option.output
           << "' to have a last dim of 2 classes or more, got "
           << logits.getType()
           << ": a cross entropy of one class is always 0; for a regression "
              "say "
              "--loss mse:output="
           << option.output << ",target=NAME";
  if (failed(checkWeights(option, logits)))
    return failure();
  auto rows = shape.drop_back();
  if (option.shift > 0 && (rows.size() < 2 || option.shift >= rows.back()))
    return emitError(getOperation().getLoc())
           << "--loss: shift=" << option.shift
           << " needs a sequence dim longer than that, logits '"
           << option.output << "' are " << logits.getType();
  auto labels = labelsInput(signature, "labels", option.target,
                            RankedTensorType::get(rows, builder.getI64Type()));
  if (failed(labels))
    return failure();
  Value scale = addScale(signature, logits);
  Value weights = classWeightsConstant(
      option.classWeights, raise::typeOf(scale).getElementType(), builder);
  describe({.kind = "cross_entropy",
            .labels = option.target,
            .ignoreIndex = option.ignore,
            .shift = option.shift,
            .classes = shape.back(),
            .elements = raise::typeOf(*labels).getNumElements(),
            .classWeights = classWeightsOf(weights)});
  return nn::CrossEntropyOp::create(builder, builder.getUnknownLoc(),
                                    scalarLike(logits), logits, *labels, scale,
                                    weights, option.ignore, option.shift,
                                    APFloat(option.smoothing))
      .getResult();
}

FailureOr<Value> NNAttachLoss::attachElements(Signature &signature,
                                              const LossOption &option,
                                              Value output,
                                              OpBuilder &builder) {
  auto type = raise::typeOf(output);
  const bool isOfRows = option.kind->of == LossMean::Rows;
  if (isOfRows && (type.getRank() < 2 || type.getShape().back() < 2))
    return emitError(getOperation().getLoc())
           << "--loss: expects logits '" << option.output
           << "' to have a last dim of 2 classes or more behind the batch, got "
           << type;
  auto target = labelsInput(signature, "target", option.target, type);
  if (failed(checkWeights(option, output)) || failed(target))
    return failure();
  Value scale = addScale(signature, output);
  const int64_t elements = type.getNumElements();
  describe(
      {.kind = option.kind->name,
       .labels = option.target,
       .elements = isOfRows ? elements / type.getShape().back() : elements});
  return scaledSum(elementLoss(option, output, *target, builder), scale,
                   builder);
}

FailureOr<Value> NNAttachLoss::attachOutput(Signature &signature,
                                            const LossOption &option,
                                            Value output, OpBuilder &builder) {
  if (!isScalar(output))
    return emitError(getOperation().getLoc())
           << "--loss: expects output '" << option.output
           << "' to be one number, got " << output.getType();
  OwnLoss own = OwnLoss::of(output);
  auto crossEntropy = own.value.getDefiningOp<nn::CrossEntropyOp>();
  if (!crossEntropy) {
    describe({.kind = "output", .reduction = own.isSum ? "sum" : "mean"});
    return scaledSum(output, addScale(signature, output), builder);
  }
  StringRef reduction = own.isSum ? "sum" : "mean";
  const bool isMean = reductionOf(crossEntropy) == "mean";
  Value scale = addScale(signature, crossEntropy.getScale());
  if (isMean || own.isSum)
    undoShift(crossEntropy, builder);
  auto labels =
      dyn_cast<BlockArgument>(raise::behindReshapes(crossEntropy.getLabels()));
  const SmallVector<double> classWeights =
      classWeightsOf(crossEntropy.getClassWeights());
  OpBuilder before(crossEntropy);
  if (labels && (isMean || own.isSum) &&
      (!crossEntropy.getClassWeights() || !classWeights.empty())) {
    signature.function.setArgAttr(labels.getArgNumber(), nn::roleAttr,
                                  builder.getStringAttr("labels"));
    describe({.kind = "cross_entropy",
              .reduction = reduction,
              .labels = signature.inputName(labels.getArgNumber()),
              .ignoreIndex = int64_t(crossEntropy.getIgnoreIndex()),
              .shift = int64_t(crossEntropy.getShift()),
              .classes = raise::shapeOf(crossEntropy.getLogits()).back(),
              .elements = raise::typeOf(labels).getNumElements(),
              .classWeights = classWeights});
  } else {
    // What counts its labels in the graph may find as many on every rank.
    if (isMean && !raise::isConstantExpression(crossEntropy.getScale()))
      emitWarning(signature.function.getLoc())
          << "labels of the cross entropy are computed in the graph: the "
             "loss is the mean over micro-batches of each one's mean, not over "
             "all valid labels of a step";
    describe({.kind = "output", .reduction = reduction});
    if (!raise::isSplat(crossEntropy.getScale(), 1))
      scale = nn::MulOp::create(before, crossEntropy.getLoc(), scale.getType(),
                                scale, crossEntropy.getScale());
  }
  // Into the scale, not behind the loss: what backward rounds to 16 bits has
  // it already.
  if (own.factor != 1)
    scale = nn::MulOp::create(
        before, crossEntropy.getLoc(), scale.getType(), scale,
        raise::splatConstant(before, crossEntropy.getLoc(),
                             raise::typeOf(scale), own.factor));
  crossEntropy.getScaleMutable().assign(scale);
  return crossEntropy.getResult();
}

void NNAttachLoss::undoShift(nn::CrossEntropyOp op, OpBuilder &builder) {
  auto labels =
      raise::behindReshapes(op.getLabels()).getDefiningOp<nn::SliceOp>();
  auto logits =
      raise::View::of(op.getLogits()).base().getDefiningOp<nn::SliceOp>();
  if (!labels || !logits || op.getShift() != 0)
    return;
  ArrayRef<int64_t> all = raise::shapeOf(labels.getInput());
  ArrayRef<int64_t> rows = raise::shapeOf(logits.getInput()).drop_back();
  if (all != rows || all.size() < 2 ||
      raise::shapeOf(logits.getResult()).back() !=
          raise::shapeOf(logits.getInput()).back() ||
      !raise::View::of(op.getLogits()).isReshape())
    return;
  size_t last = all.size() - 1;
  int64_t shift = labels.getStarts()[last];
  auto isPart = [&](nn::SliceOp slice, int64_t start) {
    ArrayRef<int64_t> kept = raise::shapeOf(slice.getResult());
    return kept.take_front(last) == all.take_front(last) &&
           kept[last] == all[last] - shift &&
           slice.getStarts()[last] == start && slice.getStrides()[last] == 1;
  };
  if (shift <= 0 || !isPart(labels, shift) || !isPart(logits, 0))
    return;
  op.getLogitsMutable().assign(logits.getInput());
  op.getLabelsMutable().assign(labels.getInput());
  op.setShift(shift);
}

LogicalResult NNAttachLoss::clean(func::FuncOp function) {
  RewritePatternSet patterns(&getContext());
  raise::populateFusedLossPatterns(patterns);
  raise::populateViewPatterns(patterns);
  // There is one block: no region to simplify.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
    return emitError(function.getLoc(),
                     "expects the loss's patterns to come to an end");
  function.walk(
      [](Operation *op) { op->removeDiscardableAttr(nn::reductionAttr); });
  Signature signature{function};
  BitVector dead(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto role = function.getArgAttrOfType<StringAttr>(i, nn::roleAttr);
    bool ours = role && (role == "labels" || role == "loss_scale");
    if (!argument.use_empty() || ours)
      continue;
    emitWarning(function.getLoc()) << "input '" << signature.inputName(i)
                                   << "' does not feed the loss and is dropped";
    dead.set(i);
  }
  (void)function.eraseArguments(dead);
  SymbolTable symbols(getOperation());
  llvm::DenseSet<StringAttr> used;
  getOperation().walk([&](nn::GetParameterOp get) {
    used.insert(get.getParameterAttr().getAttr());
  });
  for (auto parameter :
       llvm::make_early_inc_range(getOperation().getOps<nn::ParameterOp>())) {
    if (used.contains(parameter.getSymNameAttr()))
      continue;
    if (parameter.getTrainable())
      emitWarning(function.getLoc())
          << "parameter '" << parameter.getSymName()
          << "' does not feed the loss and is dropped";
    symbols.erase(parameter);
  }
  return success();
}

} // namespace shardc

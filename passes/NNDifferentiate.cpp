// nn-differentiate: reverse mode over straight-line SSA, by each op's own
// gradient.
#include "passes/GradientTypes.h"
#include "passes/Passes.h"
#include "passes/analyses/FloatElements.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNDIFFERENTIATE
#include "passes/Passes.h.inc"

namespace {

/// Differentiates the function that it is given, in place.
class BackwardPass {
public:
  BackwardPass(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols),
        ret(cast<func::ReturnOp>(function.front().getTerminator())),
        builder(ret), types(function) {}

  /// Writes the backward pass before the return; false after an error.
  bool run() {
    findVaryingValues();
    Value loss = ret.getOperand(0);
    auto lossType = cast<RankedTensorType>(loss.getType());
    gradients[loss] = nn::ConstantOp::create(
        builder, loss.getLoc(),
        nn::HostTensor::splat(lossType, 1).toAttribute());
    types.hold(gradients[loss]);
    SmallVector<Operation *> forward;
    for (Operation &op : function.front())
      if (!isa<func::ReturnOp>(op) &&
          gradients.lookup(loss).getDefiningOp() != &op)
        forward.push_back(&op);
    return llvm::all_of(llvm::reverse(forward),
                        [&](Operation *op) { return propagate(op); });
  }

  /// The gradient of a parameter, summed over the places where it is read; null
  /// where it does not reach the loss.
  Value gradientOf(nn::ParameterOp parameter) const {
    return parameterGradients.lookup(parameter.getSymNameAttr());
  }

private:
  bool isTrained(nn::GetParameterOp get) {
    return symbols.lookup<nn::ParameterOp>(get.getParameter()).getTrainable();
  }

  /// A value varies if a trainable parameter reaches it through floats, and
  /// nothing on the way stops all gradients.
  void findVaryingValues() {
    for (Operation &op : function.front()) {
      if (auto stop = dyn_cast<nn::StopGradientOp>(op);
          stop && !stop.getWhere())
        continue;
      auto get = dyn_cast<nn::GetParameterOp>(op);
      if (get ? !isTrained(get) : llvm::none_of(op.getOperands(), [&](Value x) {
            return varying.contains(x);
          }))
        continue;
      for (Value result : op.getResults())
        if (floatElement(result))
          varying.insert(result);
    }
  }

  /// Hands the gradients of op's results on to its operands.
  bool propagate(Operation *op) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(
          varying.contains(result) ? gradients.lookup(result) : Value());
    if (llvm::none_of(resultGradients, [](Value gradient) {
          return static_cast<bool>(gradient);
        }))
      return true;
    if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
      accumulate(parameterGradients[get.getParameterAttr().getAttr()],
                 resultGradients[0], op->getLoc());
      return true;
    }
    if (auto cast = dyn_cast<nn::CastOp>(op)) {
      // The gradient of a float that was converted is converted back, unless it
      // has the right type already.
      addGradient(cast.getInput(), resultGradients[0], op->getLoc());
      return true;
    }
    auto differentiable = dyn_cast<nn::Differentiable>(op);
    if (!differentiable) {
      op->emitError("'") << op->getName()
                         << "' has no gradient, but lies between a trainable "
                            "parameter and the loss";
      return false;
    }
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(varying.contains(operand));
    SmallVector<Value> operandGradients;
    if (failed(differentiable.differentiate(builder, resultGradients, needed,
                                            operandGradients)))
      return false;
    assert(operandGradients.size() == op->getNumOperands() &&
           "one gradient, or null, per operand");
    for (auto [operand, gradient] :
         llvm::zip_equal(op->getOperands(), operandGradients))
      if (gradient)
        addGradient(operand, gradient, op->getLoc());
    return true;
  }

  /// Adds to the gradient of a value, in the type that this has.
  void addGradient(Value value, Value gradient, Location userLoc) {
    if (!varying.contains(value))
      return;
    gradient = types.inType(gradient, types.of(value), builder);
    assert(gradient.getType() == types.of(value) && "one gradient, one shape");
    Operation *producer = value.getDefiningOp();
    accumulate(gradients[value], gradient,
               producer ? producer->getLoc() : userLoc);
  }

  void accumulate(Value &sum, Value gradient, Location loc) {
    sum = sum ? Value(nn::AddOp::create(builder, loc, sum.getType(), sum,
                                        gradient))
              : gradient;
    types.hold(sum);
  }

  func::FuncOp function;
  SymbolTable &symbols;
  func::ReturnOp ret;
  OpBuilder builder;
  GradientTypes types;
  llvm::DenseSet<Value> varying;
  llvm::DenseMap<Value, Value> gradients;
  llvm::DenseMap<StringAttr, Value> parameterGradients;
};

struct NNDifferentiate : impl::NNDifferentiateBase<NNDifferentiate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto model = symbols.lookup<func::FuncOp>("model");
    if (!model || !returnsLoss(model)) {
      emitError(model ? model.getLoc() : module.getLoc())
          << "expects @model to return one float scalar, the loss; attach one "
             "first";
      return signalPassFailure();
    }
    auto train = cast<func::FuncOp>(model->clone());
    train.setSymName("train");
    symbols.insert(train, std::next(model->getIterator()));
    if (symbols.lookup("eval")) {
      emitError(model.getLoc()) << "expects no symbol @eval in the module";
      return signalPassFailure();
    }
    // Not SymbolTable::rename, which looks for uses in every attribute of the
    // module: nothing names @model.
    symbols.remove(model);
    model.setSymName("eval");
    symbols.insert(model);

    dropOutputs(train);
    BackwardPass backward(train, symbols);
    if (!backward.run())
      return signalPassFailure();
    returnGradients(train, module, backward);
    if (train.getNumResults() == 1) {
      emitError(module.getLoc())
          << "expects a trainable parameter that reaches the loss, got none; "
             "shardc --compile-to=import shows what is trainable";
      return signalPassFailure();
    }
    if (module->hasAttr(nn::lossAttr) && !readsData(train)) {
      emitError(module.getLoc())
          << "expects an input that reaches the loss, got none: every step "
             "would be the same";
      return signalPassFailure();
    }
    removeStops(train);
    removeStops(model);
    // Folds what gradients leave behind (products with 1, sums of padded
    // slices), and drops what nothing uses.
    RewritePatternSet patterns(&getContext());
    nn::AddOp::getCanonicalizationPatterns(patterns, &getContext());
    nn::ConcatOp::getCanonicalizationPatterns(patterns, &getContext());
    // There is one block: no region to simplify.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(train, std::move(patterns), config)))
      return signalPassFailure();
  }

  /// Whether the loss depends on what a run gives: an input, or labels.
  static bool readsData(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        nn::roleAttr);
      if (!argument.use_empty() && (!role || role != "loss_scale"))
        return true;
    }
    return false;
  }

  /// What said where gradients go has done so: it is its input from here on.
  static void removeStops(func::FuncOp function) {
    for (Operation &op :
         llvm::make_early_inc_range(function.front().getOperations()))
      if (op.hasTrait<nn::IsGradientRule>()) {
        op.replaceAllUsesWith(op.getOperands().take_front());
        op.erase();
      }
  }

  /// What @model returns behind the loss is for evaluations.
  static void dropOutputs(func::FuncOp train) {
    Operation *ret = train.front().getTerminator();
    llvm::BitVector outputs(ret->getNumOperands(), true);
    outputs.reset(0);
    ret->eraseOperands(outputs);
    (void)train.eraseResults(outputs);
    // What only they used; uses stand behind what they use.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(train.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  static bool returnsLoss(func::FuncOp function) {
    if (function.isExternal() || function.getNumResults() == 0)
      return false;
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[0]);
    return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
  }

  void returnGradients(func::FuncOp train, ModuleOp module,
                       const BackwardPass &backward) {
    Operation *ret = train.front().getTerminator();
    SmallVector<Value> results(ret->getOperands());
    SmallVector<FlatSymbolRefAttr> names;
    for (auto parameter : module.getOps<nn::ParameterOp>()) {
      if (!parameter.getTrainable())
        continue;
      Value gradient = backward.gradientOf(parameter);
      if (!gradient) {
        parameter.emitWarning("parameter '")
            << parameter.getSymName()
            << "' does not reach the loss; it is not trained";
        parameter.setTrainable(false);
        continue;
      }
      names.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
      results.push_back(gradient);
    }
    ret->setOperands(results);
    train.setType(FunctionType::get(&getContext(), train.getArgumentTypes(),
                                    ValueRange(results).getTypes()));
    SmallVector<Attribute> attributes(results.size(),
                                      DictionaryAttr::get(&getContext()));
    if (DictionaryAttr lossAttributes = train.getResultAttrDict(0))
      attributes[0] = lossAttributes;
    for (auto [index, name] : llvm::enumerate(names))
      attributes[index + 1] =
          Builder(&getContext())
              .getDictionaryAttr(Builder(&getContext())
                                     .getNamedAttr(nn::gradientOfAttr, name));
    train.setResAttrsAttr(ArrayAttr::get(&getContext(), attributes));
  }
};

} // namespace
} // namespace shardc

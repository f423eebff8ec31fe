// nn-precision: gives floats their types, and places casts where two meet.
#include "passes/Passes.h"
#include "passes/analyses/ComputeTypes.h"
#include "passes/analyses/FloatElements.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNPRECISION
#include "passes/Passes.h.inc"

namespace {

/// Widening keeps each value exactly; narrowing rounds to nearest. A finite
/// value beyond the type becomes the largest that it has: the -3.4e38 of a mask
/// stays finite in float16.
DenseElementsAttr convertValues(DenseFPElementsAttr values, FloatType target) {
  return values.mapValues(target, [&](const APFloat &value) {
    APFloat copy = value;
    bool lossy;
    copy.convert(target.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &lossy);
    if (copy.isInfinity() && value.isFinite())
      copy =
          APFloat::getLargest(target.getFloatSemantics(), value.isNegative());
    return copy.bitcastToAPInt();
  });
}

/// The same of any constant of floats; null of others.
ElementsAttr convertFloats(ElementsAttr values, FloatType target) {
  if (auto dense = dyn_cast<DenseFPElementsAttr>(values))
    return convertValues(dense, target);
  auto strided = dyn_cast<nn::StridedAttr>(values);
  auto stored = strided ? dyn_cast<DenseFPElementsAttr>(strided.getValues())
                        : DenseFPElementsAttr();
  if (!stored)
    return {};
  return nn::StridedAttr::get(
      target.getContext(), strided.getType().clone(target),
      convertValues(stored, target), strided.getStart(), strided.getStrides());
}

/// All floats of a module in one type.
void makeUniform(ModuleOp module, FloatType target);

/// Rewrites a function of float32 values: each op in the type that it computes
/// in. A value is converted once per type, directly behind its producer; views
/// are repeated rather than what they look at converted twice.
class Retyping {
public:
  Retyping(func::FuncOp function, const ComputeTypes &types, FloatType output)
      : function(function), types(types), output(output),
        wide(Float32Type::get(function.getContext())) {}

  void run();

private:
  void visit(Operation *op);
  /// The result of a part of an operator stays float32, or is rounded once for
  /// all that read it.
  void widen(Operation *op, FloatType type);
  /// The type that the op's operands and its first result have; null where no
  /// float is read or made.
  FloatType typeOf(Operation *op);
  void giveOperands(Operation *op, FloatType type);
  void giveOperand(OpOperand &operand, FloatType type);
  /// `type`: the one that its op computes in.
  void giveOperand(OpOperand &operand, nn::OperandType read, FloatType type);
  /// The value in another float type. Views are made again on what they show in
  /// that type, however many there are in a row.
  Value inType(Value value, FloatType type);
  /// A conversion of what is no view.
  Value converted(Value value, FloatType type);
  void eraseDead();
  /// A generated op whose float32 result is read in one other type alone makes
  /// that type: the value is rounded once either way.
  void narrowResults();

public:
  /// Gives a value the narrower type that all its users cast it to, if there is
  /// one.
  static bool takeOverCasts(Value value);

private:
  func::FuncOp function;
  const ComputeTypes &types;
  FloatType output, wide;
  llvm::DenseMap<std::pair<Value, Type>, Value> versions;
};

void Retyping::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front())
    ops.push_back(&op);
  for (Operation *op : ops)
    visit(op);
  eraseDead();
  narrowResults();
  function.setType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(),
                        function.front().getTerminator()->getOperandTypes()));
}

void Retyping::visit(Operation *op) {
  if (isa<func::ReturnOp>(op))
    return giveOperands(op, output);
  if (isa<nn::ConstantOp>(op))
    return;
  if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
    if (floatElement(get.getResult()))
      setElement(get.getResult(), types.of(get.getParameterAttr().getAttr()));
    return;
  }
  FloatType type = typeOf(op);
  if (!type)
    return;
  if (auto own = dyn_cast<nn::OperandTypes>(op))
    for (OpOperand &operand : op->getOpOperands())
      giveOperand(operand, own.operandType(operand), type);
  else if (!op->hasTrait<nn::MixedTypes>())
    giveOperands(op, types.isPart(op) ? wide : type);
  // Losses, and what is kept per row, are sums.
  const bool isSum = op->hasTrait<nn::IsLoss>();
  for (OpResult result : op->getResults())
    if (floatElement(result))
      setElement(result, isSum || result.getResultNumber() > 0 ? wide : type);
  if (types.isPart(op) && floatElement(op->getResult(0)))
    widen(op, type);
}

void Retyping::widen(Operation *op, FloatType type) {
  Value result = op->getResult(0);
  setElement(result, wide);
  if (type == wide || op->hasAttr(nn::unroundedAttr))
    return;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfter(op);
  Value rounded = nn::CastOp::create(
      builder, op->getLoc(),
      cast<RankedTensorType>(result.getType()).clone(type), result);
  result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

FloatType Retyping::typeOf(Operation *op) {
  const bool makesFloats = llvm::any_of(op->getResults(), floatElement);
  FloatType widest, narrowest;
  for (Value operand : op->getOperands())
    if (FloatType own = floatElement(operand);
        own && !operand.getDefiningOp<nn::ConstantOp>()) {
      if (!widest || own.getWidth() > widest.getWidth())
        widest = own;
      if (!narrowest || own.getWidth() < narrowest.getWidth())
        narrowest = own;
    }
  // What compares or counts floats reads them as they are.
  if (!makesFloats)
    return widest;
  if (isMove(op) && widest == narrowest)
    return widest ? widest : wide;
  return types.of(op);
}

void Retyping::giveOperands(Operation *op, FloatType type) {
  for (OpOperand &operand : op->getOpOperands())
    giveOperand(operand, type);
}

void Retyping::giveOperand(OpOperand &operand, FloatType type) {
  if (floatElement(operand.get()))
    operand.set(inType(operand.get(), type));
}

void Retyping::giveOperand(OpOperand &operand, nn::OperandType read,
                           FloatType type) {
  switch (read) {
  case nn::OperandType::Computed:
    return giveOperand(operand, type);
  case nn::OperandType::ComputedOrFloat32:
    if (floatElement(operand.get()) != wide)
      giveOperand(operand, type);
    return;
  case nn::OperandType::Float32:
    return giveOperand(operand, wide);
  case nn::OperandType::Any:
    return;
  }
}

Value Retyping::inType(Value value, FloatType type) {
  SmallVector<Operation *> shown;
  Value made = value;
  auto version = [&](Value of) {
    return floatElement(of) == type ? of : versions.lookup({of, type});
  };
  while (!version(made) && made.getDefiningOp() &&
         made.getDefiningOp()->hasTrait<nn::IsView>()) {
    shown.push_back(made.getDefiningOp());
    made = shown.back()->getOperand(0);
  }
  if (Value known = version(made))
    made = known;
  else
    made = versions[{made, type}] = converted(made, type);
  for (Operation *view : llvm::reverse(shown)) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfter(view);
    Operation *clone = builder.clone(*view);
    clone->setOperand(0, made);
    clone->getResult(0).setType(
        cast<RankedTensorType>(clone->getResult(0).getType()).clone(type));
    made = versions[{view->getResult(0), type}] = clone->getResult(0);
  }
  return made;
}

Value Retyping::converted(Value value, FloatType type) {
  Operation *producer = value.getDefiningOp();
  OpBuilder builder(function.getContext());
  if (producer)
    builder.setInsertionPointAfter(producer);
  else
    builder.setInsertionPointToStart(&function.front());
  auto constant = dyn_cast_or_null<nn::ConstantOp>(producer);
  if (ElementsAttr values =
          constant ? convertFloats(constant.getValue(), type) : ElementsAttr())
    return nn::ConstantOp::create(builder, value.getLoc(), values);
  // Of integers: converted from those.
  auto cast = dyn_cast_or_null<nn::CastOp>(producer);
  return nn::CastOp::create(
      builder, value.getLoc(),
      mlir::cast<RankedTensorType>(value.getType()).clone(type),
      cast && !floatElement(cast.getInput()) ? cast.getInput() : value);
}

void Retyping::eraseDead() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (!isa<func::ReturnOp>(op) && op.use_empty() &&
        isa_and_nonnull<nn::NNDialect>(op.getDialect()))
      op.erase();
}

void Retyping::narrowResults() {
  for (Operation &op : function.front())
    if (op.hasTrait<nn::MixedTypes>())
      takeOverCasts(op.getResult(0));
}

bool Retyping::takeOverCasts(Value value) {
  FloatType type, held = floatElement(value);
  if (!held || value.use_empty()) // a count of integers stays one
    return false;
  for (Operation *user : value.getUsers()) {
    auto cast = dyn_cast<nn::CastOp>(user);
    FloatType own = cast ? floatElement(cast.getResult()) : FloatType();
    if (!own || own.getWidth() >= held.getWidth() || (type && own != type))
      return false;
    type = own;
  }
  setElement(value, type);
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    user->getResult(0).replaceAllUsesWith(value);
    user->erase();
  }
  return true;
}

struct NNPrecision : impl::NNPrecisionBase<NNPrecision> {
  using NNPrecisionBase::NNPrecisionBase;

  void runOnOperation() override {
    if (llvm::Error error = apply()) {
      emitError(getOperation().getLoc()) << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }

private:
  llvm::Error apply() {
    ModuleOp module = getOperation();
    auto option = PrecisionOption::parse(precision, master);
    if (!option)
      return option.takeError();
    SmallVector<UnitPrecision> units;
    for (const std::string &text : unitOptions) {
      auto unit = UnitPrecision::parse(text, *option);
      if (!unit)
        return unit.takeError();
      if (*unit)
        units.push_back(**unit);
    }
    if (std::string warning = option->warning(); !warning.empty())
      emitWarning(module.getLoc()) << warning;
    record(*option);

    const bool isWide = option->parameters == FloatKind::Float64;
    makeUniform(module, floatType(&getContext(), isWide ? FloatKind::Float64
                                                        : FloatKind::Float32));
    // Patterns and units are looked for where they change nothing, too: one
    // that matches nothing is a mistake.
    auto types = ComputeTypes::find(module, *option, units);
    if (!types)
      return types.takeError();
    if (option->isUniform() && units.empty()) {
      forgetParts();
      return llvm::Error::success();
    }
    for (auto parameter : module.getOps<nn::ParameterOp>())
      setType(parameter, types->of(parameter));
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        Retyping(function, *types, floatType(&getContext(), option->output))
            .run();
    narrowBuffers();
    forgetParts();
    return llvm::Error::success();
  }

  void forgetParts() {
    getOperation().walk(
        [](Operation *op) { op->removeDiscardableAttr(nn::unroundedAttr); });
  }

  static void setType(nn::ParameterOp parameter, FloatType type) {
    auto tensor = cast<RankedTensorType>(parameter.getType());
    if (isa<FloatType>(tensor.getElementType()))
      parameter.setType(tensor.clone(type));
  }

  /// For fsdp-form-units, the report and the plan.
  void record(const PrecisionOption &option) {
    Builder b(&getContext());
    auto type = [&](StringRef name, FloatKind kind) {
      return b.getNamedAttr(name,
                            TypeAttr::get(floatType(&getContext(), kind)));
    };
    SmallVector<NamedAttribute> said = {type("parameters", option.parameters),
                                        type("gradients", option.gradients),
                                        type("loss", option.output),
                                        type("master", option.master)};
    if (option.splitsMaster)
      said.push_back(b.getNamedAttr("split_master", b.getUnitAttr()));
    getOperation()->setAttr(nn::precisionAttr, b.getDictionaryAttr(said));
  }

  /// A buffer that is read in one other type alone is stored in it.
  void narrowBuffers() {
    llvm::MapVector<StringAttr, SmallVector<nn::GetParameterOp>> reads;
    getOperation().walk([&](nn::GetParameterOp get) {
      reads[get.getParameterAttr().getAttr()].push_back(get);
    });
    SymbolTable symbols(getOperation());
    for (auto &[name, gets] : reads) {
      auto parameter = symbols.lookup<nn::ParameterOp>(name);
      if (parameter.getTrainable() || parameter.getFrozen() ||
          gets.size() != 1 || !Retyping::takeOverCasts(gets[0].getResult()))
        continue;
      parameter.setType(gets[0].getType());
    }
  }
};

//===----------------------------------------------------------------------===//
// One type for all floats
//===----------------------------------------------------------------------===//

Type converted(Type type, FloatType target) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return type;
  return tensor.clone(target);
}

void convert(Operation *op, FloatType target) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(converted(argument.getType(), target));
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    if (ElementsAttr values = convertFloats(constant.getValue(), target))
      constant.setValueAttr(values);
  if (auto parameter = dyn_cast<nn::ParameterOp>(op))
    parameter.setType(converted(parameter.getType(), target));
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    auto convertAll = [&](TypeRange types) {
      return llvm::map_to_vector(
          types, [&](Type type) { return converted(type, target); });
    };
    FunctionType type = function.getFunctionType();
    function.setType(FunctionType::get(op->getContext(),
                                       convertAll(type.getInputs()),
                                       convertAll(type.getResults())));
  }
  for (OpResult result : op->getResults())
    result.setType(converted(result.getType(), target));
}

void makeUniform(ModuleOp module, FloatType target) {
  module.walk([&](Operation *op) { convert(op, target); });
  // Between equal types nothing is left to convert.
  module.walk([](nn::CastOp cast) {
    if (cast.getInput().getType() != cast.getResult().getType())
      return;
    cast.getResult().replaceAllUsesWith(cast.getInput());
    cast.erase();
  });
}

} // namespace
} // namespace shardc

// Which type each op computes in. The families that `keep` names (norm,
// softmax, loss) are told here.
#include "passes/analyses/ComputeTypes.h"
#include "passes/analyses/FloatElements.h"
#include "passes/analyses/OpClasses.h"
#include "passes/options/UnitsOption.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace shardc {

static bool isFloat(Value value) { return bool(floatElement(value)); }

static bool isNorm(Operation *op) { return op->hasTrait<nn::IsNorm>(); }
static bool isSoftmax(Operation *op) { return op->hasTrait<nn::IsSoftmax>(); }
static bool isLoss(Operation *op) { return op->hasTrait<nn::IsLoss>(); }

bool isMove(Operation *op) { return op->hasTrait<nn::IsMove>(); }
/// Its result is still a parameter, in another shape.
static bool isMoveOfWhole(Operation *op) {
  return isMove(op) &&
         (isa<nn::KernelBody>(op) || op->hasTrait<nn::IsGradientRule>());
}

static bool isBuffer(nn::ParameterOp parameter) {
  return !parameter.getTrainable() && !parameter.getFrozen();
}

ComputeTypes::ComputeTypes(ModuleOp module, const PrecisionOption &precision)
    : module(module), precision(precision),
      base(floatType(module.getContext(), precision.parameters)),
      wide(Float32Type::get(module.getContext())) {
  for (auto parameter : module.getOps<nn::ParameterOp>()) {
    parameters[parameter.getSymNameAttr()] = parameter;
    parameterTypes[parameter.getSymNameAttr()] =
        isBuffer(parameter) ? wide : base;
  }
}

llvm::Expected<ComputeTypes>
ComputeTypes::find(ModuleOp module, const PrecisionOption &precision,
                   ArrayRef<UnitPrecision> units) {
  ComputeTypes types(module, precision);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    types.readFunction(function);
    if (precision.keepsLoss)
      types.findLossHead(function);
  }
  if (llvm::Error error = types.findKept())
    return error;
  if (llvm::Error error = types.giveUnitTypes(units))
    return error;
  if (llvm::Error error = types.agreeOnParameters())
    return error;
  return types;
}

void ComputeTypes::readFunction(func::FuncOp function) {
  llvm::DenseSet<Value> unrounded; // values inside of operators
  for (Operation &op : function.front()) {
    const bool readsUnrounded = llvm::any_of(
        op.getOperands(), [&](Value x) { return unrounded.contains(x); });
    if (op.hasAttr(nn::unroundedAttr) || (readsUnrounded && isMove(&op)))
      unrounded.insert_range(op.getResults());
    if (op.hasAttr(nn::unroundedAttr) ||
        (readsUnrounded && !isMove(&op) && !hasNoKernel(&op)))
      parts.insert(&op);
    if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
      StringAttr name = get.getParameterAttr().getAttr();
      behind[get.getResult()] = {name};
      if (isFloat(get.getResult()) && isBuffer(parameters.lookup(name)))
        auxiliary.insert(get.getResult());
      continue;
    }
    const bool fromAuxiliary = llvm::all_of(op.getOperands(), [&](Value x) {
      return !isFloat(x) || auxiliary.contains(x);
    });
    for (Value result : op.getResults())
      if (isFloat(result) && fromAuxiliary)
        auxiliary.insert(result);
    if (isMoveOfWhole(&op)) {
      llvm::SetVector<StringAttr> names;
      for (Value operand : op.getOperands())
        names.insert_range(behind[operand]);
      behind[op.getResult(0)].assign(names.begin(), names.end());
    } else if (!op.hasTrait<OpTrait::ConstantLike>() &&
               !op.hasTrait<OpTrait::IsTerminator>() &&
               llvm::any_of(op.getResults(), isFloat)) {
      ops.push_back(&op);
    }
  }
}

// Losses, what follows them and what the run's scale reaches; then, backwards,
// the generated ops that nothing else reads, up to the last products, norms and
// values that go elsewhere too.
void ComputeTypes::findLossHead(func::FuncOp function) {
  llvm::DenseSet<Value> reached;
  for (BlockArgument argument : function.getArguments())
    if (auto role = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), nn::roleAttr);
        role && role == "loss_scale")
      reached.insert(argument);
  for (Operation &op : function.front())
    if (isLoss(&op) || llvm::any_of(op.getOperands(), [&](Value x) {
          return reached.contains(x);
        })) {
      // The fused loss multiplies in its weight's type.
      if (!isa<nn::LinearCrossEntropyOp>(op))
        head.insert(&op);
      reached.insert_range(op.getResults());
    }
  for (Operation &op : llvm::reverse(function.front())) {
    const bool generated = isa<nn::KernelBody>(op) && !isNorm(&op);
    if (generated && !op.use_empty() &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return head.contains(user); }))
      head.insert(&op);
  }
}

SmallVector<StringAttr> ComputeTypes::weightsOf(Operation *op) const {
  llvm::SetVector<StringAttr> names;
  for (Value operand : op->getOperands())
    for (StringAttr name : behind.lookup(operand))
      if (!isBuffer(parameters.lookup(name)))
        names.insert(name);
  return llvm::to_vector(names.takeVector());
}

static void collectNames(Location loc, SmallVectorImpl<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(loc))
    names.push_back(name.getName());
  else if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      collectNames(part, names);
}

/// At most so many names of a list, and how many more there are.
static std::string listNames(ArrayRef<StringRef> names) {
  constexpr size_t most = 24;
  std::string text = llvm::join(names.take_front(most), ", ");
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::string ComputeTypes::listModules() const {
  llvm::SetVector<StringRef> scopes, nodes;
  for (auto parameter : ModuleOp(module).getOps<nn::ParameterOp>())
    if (std::optional<StringRef> scope = parameter.getScope();
        scope && !scope->empty())
      scopes.insert(*scope);
  for (Operation *op : ops) {
    SmallVector<StringRef> names;
    collectNames(op->getLoc(), names);
    nodes.insert_range(names);
  }
  std::string text;
  if (!scopes.empty())
    text += "modules " + listNames(scopes.getArrayRef());
  if (!nodes.empty())
    text +=
        (text.empty() ? "nodes " : "; nodes ") + listNames(nodes.getArrayRef());
  return text.empty() ? "no names at all" : text;
}

llvm::Error ComputeTypes::findKept() {
  for (const std::string &pattern : precision.keptPatterns) {
    llvm::Regex regex(translatePattern(pattern));
    bool found = false;
    for (Operation *op : ops) {
      SmallVector<StringRef> names;
      collectNames(op->getLoc(), names);
      for (Value operand : op->getOperands())
        for (StringAttr name : behind.lookup(operand)) {
          names.push_back(name);
          if (auto scope = parameters.lookup(name).getScope())
            names.push_back(*scope);
        }
      if (llvm::any_of(names, [&](StringRef n) { return regex.match(n); })) {
        matched.insert(op);
        found = true;
      }
    }
    if (!found)
      return llvm::createStringError("--precision: keep: '" + pattern +
                                     "' matches no op; there are " +
                                     listModules());
  }
  return llvm::Error::success();
}

llvm::Error ComputeTypes::giveUnitTypes(ArrayRef<UnitPrecision> units) {
  auto unitOf = [](nn::ParameterOp parameter) {
    auto unit = parameter->getAttrOfType<StringAttr>(nn::parameterUnitAttr);
    return unit ? unit.getValue() : parameter.getSymName();
  };
  for (const UnitPrecision &unit : units) {
    llvm::Regex regex(translatePattern(unit.match));
    bool found = false;
    SmallVector<std::string> names;
    for (auto parameter : module.getOps<nn::ParameterOp>()) {
      if (isBuffer(parameter))
        continue;
      // What is frozen of a unit becomes one of its own: fsdp-form-units.
      StringRef group = unitOf(parameter);
      std::string own =
          parameter.getFrozen() ? (group + ".frozen").str() : group.str();
      if (!llvm::is_contained(names, own))
        names.push_back(own);
      if (!regex.match(group) && !regex.match(own))
        continue;
      found = true;
      // The first option that matches is the one that counts.
      if (chosen.insert(parameter.getSymNameAttr()).second)
        parameterTypes[parameter.getSymNameAttr()] =
            floatType(module.getContext(), unit.kind);
    }
    if (!found)
      return llvm::createStringError(
          "--unit-option: match=" + unit.match +
          " matches no unit; units are " +
          listNames(llvm::to_vector_of<StringRef>(names)));
  }
  return llvm::Error::success();
}

bool ComputeTypes::isKept(Operation *op) const {
  return (precision.keepsNorms && isNorm(op)) ||
         (precision.keepsSoftmax && isSoftmax(op)) || head.contains(op) ||
         matched.contains(op);
}

FloatType ComputeTypes::of(Operation *op) const {
  const SmallVector<StringAttr> weights = weightsOf(op);
  if (hasNoKernel(op) && !weights.empty())
    return parameterTypes.lookup(weights.front());
  if (isKept(op) || llvm::all_of(op->getOperands(), [&](Value x) {
        return !isFloat(x) || auxiliary.contains(x);
      }))
    return wide;
  FloatType type;
  for (StringAttr weight : weights)
    if (FloatType own = parameterTypes.lookup(weight);
        own != base && (!type || own.getWidth() > type.getWidth()))
      type = own;
  return type ? type : base;
}

// A library call reads its weights as they were gathered: all have one type,
// the widest that one of them or the call asks for. One weight can be read by
// several calls, so this goes on until nothing changes.
llvm::Error ComputeTypes::agreeOnParameters() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : ops) {
      if (!hasNoKernel(op))
        continue;
      const SmallVector<StringAttr> weights = weightsOf(op);
      FloatType widest = matched.contains(op) ? wide : FloatType();
      for (StringAttr weight : weights)
        if (FloatType own = parameterTypes.lookup(weight);
            !widest || own.getWidth() > widest.getWidth())
          widest = own;
      for (StringAttr weight : weights) {
        if (parameterTypes.lookup(weight) == widest)
          continue;
        if (chosen.contains(weight))
          return llvm::createStringError(
              "--unit-option: '" + weight.getValue() +
              "' is read by an op that computes in float32, with another "
              "parameter or because keep says so; give both one precision");
        parameterTypes[weight] = widest;
        changed = true;
      }
    }
  }
  if (isHalf(precision.gradients) || isHalf(precision.master))
    for (auto parameter : module.getOps<nn::ParameterOp>())
      if (!isBuffer(parameter) && of(parameter).getWidth() > base.getWidth())
        return llvm::createStringError(
            "--precision: keep makes parameter '" + parameter.getSymName() +
            "' float32, and its gradient and master weights cannot be "
            "narrower; say reduce=float32 and --master float32");
  return llvm::Error::success();
}

} // namespace shardc

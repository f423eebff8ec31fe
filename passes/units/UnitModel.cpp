// A function is read for the uses of parameters, and for how long values live
// between them.
#include "passes/units/UnitModel.h"

#include "passes/analyses/ParameterUses.h"
#include "passes/units/RepeatedRuns.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc;

std::string shardc::modulePath(nn::ParameterOp parameter) {
  StringRef name = parameter.getSymName();
  std::optional<StringRef> scope = parameter.getScope();
  if (!scope || scope->empty() || name.contains('.'))
    return name.str();
  // The number of an exporter's own name (add_14) says nothing about the
  // module, and would make blocks differ that are equal.
  return (*scope + "." + name.rtrim("0123456789").rtrim('_')).str();
}

bool shardc::isModelParameter(nn::ParameterOp parameter) {
  return parameter.getTrainable() || parameter.getFrozen();
}

namespace {

/// Gives keys small numbers, in the order in which they are first seen.
template <typename Key> class Numbers {
public:
  size_t of(const Key &key) {
    return numbers.try_emplace(key, numbers.size()).first->second;
  }

private:
  std::map<Key, size_t> numbers;
};

/// The number of operations that an op costs.
double arithmeticOf(Operation *op) {
  auto cost = dyn_cast<nn::CostModel>(op);
  return cost ? double(cost.flops()) : 0;
}

/// The fused loss of a head counts as the product in it.
StringRef looseName(Operation *op) {
  return isa<nn::LinearCrossEntropyOp>(op) ? nn::LinearOp::getOperationName()
                                           : op->getName().getStringRef();
}

} // namespace

/// What an embedding looks up in a table as it is.
static int64_t lookupsOf(const ParameterUses::Use &use) {
  auto lookup = dyn_cast<nn::EmbeddingOp>(use.operand->getOwner());
  if (!lookup || use.operand->get() != lookup.getTable() ||
      !lookup.getTable().getDefiningOp<nn::GetParameterOp>())
    return -1;
  return cast<RankedTensorType>(lookup.getIds().getType()).getNumElements();
}

UnitModel UnitModel::of(func::FuncOp function) {
  UnitModel model;
  auto module = function->getParentOfType<ModuleOp>();
  SymbolTable symbolTable(module);
  if (auto classes =
          module->getAttrOfType<DictionaryAttr>(nn::scopeClassesAttr))
    for (NamedAttribute entry : classes)
      if (auto name = dyn_cast<StringAttr>(entry.getValue()))
        model.classes[entry.getName().str()] = name.str();

  llvm::DenseMap<Operation *, size_t> positions;
  function.walk([&](Operation *op) { positions[op] = positions.size(); });

  // Uses.
  llvm::DenseMap<StringAttr, size_t> numberOf;
  llvm::DenseSet<Operation *> usesParameter;
  // The types of the parameter and of the result are compared by address: they
  // are unique.
  Numbers<std::tuple<std::string, const void *, const void *>> kinds;
  Numbers<std::string> looseKinds;
  ParameterUses parameterUses(function);
  for (const ParameterUses::Use &use : parameterUses.uses()) {
    auto parameter = symbolTable.lookup<nn::ParameterOp>(use.parameter);
    if (!parameter || !isModelParameter(parameter))
      continue;
    auto [entry, isNew] =
        numberOf.try_emplace(use.parameter, model.parameters.size());
    if (isNew) {
      auto type = cast<RankedTensorType>(parameter.getType());
      model.parameters.push_back(
          {modulePath(parameter), llvm::to_vector(type.getShape())});
      model.symbols.push_back(parameter);
    }
    Operation *op = use.operand->getOwner();
    usesParameter.insert(op);
    std::string kind = (op->getName().getStringRef() + " " +
                        Twine(use.operand->getOperandNumber()))
                           .str();
    Type result = op->getNumResults() ? op->getResult(0).getType() : Type();
    model.uses.push_back(
        {entry->second, positions.lookup(op),
         kinds.of({kind, parameter.getType().getAsOpaquePointer(),
                   result.getAsOpaquePointer()}),
         looseKinds.of(
             (looseName(op) + " " + Twine(use.operand->getOperandNumber()))
                 .str()),
         0, lookupsOf(use)});
  }
  // Values and operations.
  llvm::DenseMap<Value, Value> viewed;
  llvm::DenseMap<Value, size_t> valueOf;
  size_t nextUse = 0;
  function.walk([&](Operation *op) {
    size_t position = positions.lookup(op);
    while (nextUse < model.uses.size() &&
           model.uses[nextUse].position <= position)
      ++nextUse;
    if (!model.uses.empty())
      model.uses[nextUse ? nextUse - 1 : 0].flops += arithmeticOf(op);
    bool isComputed = usesParameter.contains(op);
    bool isAlias = isCheapToRepeat(op);
    for (mlir::Value operand : op->getOperands()) {
      mlir::Value root = viewed.lookup(operand);
      auto value = valueOf.find(root ? root : operand);
      if (value == valueOf.end())
        continue;
      isComputed = true;
      if (isAlias)
        viewed[op->getResult(0)] = value->first;
      else
        model.activations[value->second].lastUsed = position;
    }
    if (!isComputed || isAlias)
      return;
    for (mlir::Value result : op->getResults()) {
      valueOf[result] = model.activations.size();
      model.activations.push_back({position, position});
    }
  });
  model.index();
  return model;
}

void UnitModel::index() {
  firstUses.assign(parameters.size(), uses.size());
  parameterFlops.assign(parameters.size(), 0);
  for (auto [number, use] : llvm::enumerate(uses)) {
    firstUses[use.parameter] = std::min(firstUses[use.parameter], number);
    parameterFlops[use.parameter] += use.flops;
  }
}

int64_t UnitModel::elements(size_t parameter) const {
  int64_t elements = 1;
  for (int64_t size : parameters[parameter].shape)
    elements *= size;
  return elements;
}

int64_t UnitModel::crossing(size_t start, size_t border) const {
  size_t from = uses[start].position, left = uses[border - 1].position,
         right = uses[border].position;
  if (left >= right)
    return noBorder;
  // change[i] is how the number changes from a border before op left + i to one
  // before the next op.
  std::vector<int64_t> change(right - left + 2, 0);
  auto first = llvm::lower_bound(activations, from,
                                 [](const Activation &value, size_t position) {
                                   return value.made < position;
                                 });
  for (const Activation &value : llvm::make_range(first, activations.end())) {
    if (value.made >= right)
      break;
    if (value.lastUsed <= left)
      continue;
    change[value.made < left ? 1 : value.made - left + 1] += 1;
    change[std::min(value.lastUsed, right) - left + 1] -= 1;
  }
  int64_t passes = 0, fewest = noBorder;
  for (size_t offset = 1; offset <= right - left; ++offset) {
    passes += change[offset];
    fewest = std::min(fewest, passes);
  }
  return fewest;
}

// What runs again only together with something else: sums that the library
// adds, and what reads parameters that are to be gathered.
#include "passes/analyses/ParameterUses.h"
#include "passes/analyses/SavedValues.h"

using namespace mlir;

namespace shardc {

/// The addition's other operand, where the library may add it to `product`:
/// as step-fuse-products has it.
static Value addedTo(Value product) {
  auto linear = product.getDefiningOp<nn::LinearOp>();
  if (!linear || linear.getResidual() || !product.hasOneUse())
    return {};
  auto add = dyn_cast<nn::AddOp>(*product.user_begin());
  if (!add || add.getType() != product.getType())
    return {};
  Value other = add.getLhs() == product ? add.getRhs() : add.getLhs();
  Operation *made = other.getDefiningOp();
  bool isThere = !made || made->isBeforeInBlock(linear);
  return isThere && other.getType() == product.getType() ? other : Value();
}

void SavedValues::findFusedSums() {
  // One sum is rounded once where the library adds, else twice: what is fused
  // in forward has to be fused again, and nothing else.
  for (Operation &op : train.front()) {
    if (&op == lastForward)
      break;
    Value other = op.getNumResults() == 1 ? addedTo(op.getResult(0)) : Value();
    if (!other)
      continue;
    Operation *add = *op.getResult(0).user_begin();
    if (candidates.contains(&op))
      inside.insert(op.getResult(0));
    else
      candidates.remove(add);
    Operation *made = storageOf(other).getDefiningOp();
    if (!made || !isa<nn::KernelBody>(made) || addedTo(other))
      continue;
    // Whether a kernel's result is added depends on how many read it.
    bool isReadOnce = llvm::hasSingleElement(
        llvm::make_filter_range(other.getUsers(), [&](Operation *user) {
          return user->isBeforeInBlock(lastForward);
        }));
    if (isReadOnce)
      candidates.remove(add);
    if (isReadOnce || candidates.contains(add))
      candidates.remove(made);
  }
}

std::vector<ExtraGather> SavedValues::gathersFor(const OpSet &ops) const {
  std::vector<ExtraGather> gathers;
  if (rules.gatherers.size <= 1 || rules.regions.isEmpty())
    return gathers;
  llvm::StringMap<size_t> byUnit;
  for (Operation *op : ops)
    for (StringAttr name : parametersOf(op)) {
      StringAttr unit = unitOf(name);
      if (!unit || !gathered.lookup(unit).isEmpty())
        continue;
      auto [entry, isNew] = byUnit.try_emplace(unit, gathers.size());
      if (isNew)
        gathers.emplace_back();
      gathers[entry->second].readers.push_back(op);
    }
  for (auto &[unit, index] : byUnit) {
    double bytes = 0;
    for (auto parameter :
         cast<ModuleOp>(symbols.getOp()).getOps<nn::ParameterOp>())
      if (auto of = parameter->getAttrOfType<StringAttr>(nn::parameterUnitAttr);
          of && of == unit)
        if (auto type = dyn_cast<RankedTensorType>(parameter.getType()))
          bytes +=
              static_cast<double>(type.getNumElements() * elementBytesOf(type));
    gathers[index].seconds = costs.allGather(bytes, rules.gatherers).total();
  }
  return gathers;
}

double SavedValues::secondsOf(const OpSet &ops) const {
  double seconds = RecomputationTime(ops, lastForward, costs).ofAll();
  for (const ExtraGather &gather : gathersFor(ops))
    seconds += gather.seconds;
  return seconds;
}

} // namespace shardc

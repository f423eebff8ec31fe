// Which op is in which region, and what passes between regions.
#include "passes/analyses/ForwardRegions.h"

#include "passes/analyses/OpClasses.h"
#include "passes/analyses/ParameterUses.h"
#include "passes/analyses/SavedValues.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shardc {

ForwardRegions::ForwardRegions(func::FuncOp train, Operation *lastForward,
                               const NameOf &nameOf) {
  SymbolTable symbols(train->getParentOfType<ModuleOp>());
  llvm::DenseMap<Operation *, std::string> names; // of ops with parameters
  ParameterUses parameters(train);
  for (const ParameterUses::Use &use : parameters.uses())
    if (auto parameter = symbols.lookup<nn::ParameterOp>(use.parameter))
      if (std::optional<std::string> name = nameOf(parameter))
        names.try_emplace(use.operand->getOwner(), *name);

  llvm::StringMap<int64_t> pieces;
  SmallVector<std::string> nameOfRegion = {""};
  std::string current;
  bool isInside = false;
  SmallVector<Operation *> forward;
  for (Operation &op : train.front()) {
    if (auto named = names.find(&op);
        named != names.end() && (!isInside || named->second != current)) {
      current = named->second;
      isInside = !current.empty();
      nameOfRegion.push_back(current);
      ++pieces[current];
    }
    if (isInside)
      regions[&op] = static_cast<int64_t>(nameOfRegion.size()) - 1;
    if (!op.hasTrait<nn::IsView>()) // what reads a view reads its storage
      forward.push_back(&op);
    if (&op == lastForward)
      break;
  }
  last = regions.lookup(lastForward);
  for (const std::string &name : nameOfRegion)
    sameName.push_back(pieces.lookup(name));

  for (Operation *op : forward)
    for (Value operand : op->getOperands())
      if (auto [producer, isHere] = producerOf(operand, op);
          producer && !isHere)
        inputs.insert(producer);
  for (Operation *op : forward)
    if (hasNoKernel(op) || llvm::any_of(op->getOperands(), [&](Value value) {
          auto [producer, isHere] = producerOf(value, op);
          return isHere && isMadeOfCalls(producer) && !makesInput(producer);
        }))
      madeOfCalls.insert(op);
}

std::pair<Operation *, bool>
ForwardRegions::producerOf(Value operand, Operation *reader) const {
  Operation *producer = storageOf(operand).getDefiningOp();
  auto from = regions.find(producer), to = regions.find(reader);
  if (!producer || from == regions.end())
    return {};
  return {producer, to != regions.end() && from->second == to->second};
}

bool ForwardRegions::isInOnePiece(Operation *op) const {
  auto region = regions.find(op);
  return region != regions.end() && sameName[region->second] == 1;
}

} // namespace shardc

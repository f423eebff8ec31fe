// Which values of the forward pass are kept, and at which price of a second.
#include "passes/analyses/SavedValues.h"

#include "passes/analyses/OpClasses.h"
#include "passes/analyses/ParameterUses.h"

#include <queue>

using namespace mlir;

namespace shardc {

static bool isViewOrBroadcast(Operation *op) {
  return op && op->hasTrait<nn::IsView>();
}

Operation *lastForwardOp(func::FuncOp train) {
  return train.front().getTerminator()->getOperand(0).getDefiningOp();
}

Value storageOf(Value value) {
  while (isViewOrBroadcast(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void BackwardSpan::add(BackwardSpan other) {
  if (other.isEmpty())
    return;
  first = isEmpty() ? other.first : std::min(first, other.first);
  last = std::max(last, other.last);
}

SavedValues::SavedValues(func::FuncOp train, const CostModel &costs,
                         RecomputationRules rules)
    : train(train), symbols(train->getParentOfType<ModuleOp>()), costs(costs),
      rules(std::move(rules)), lastForward(lastForwardOp(train)) {
  for (Operation &op : train.front()) {
    position[&op] = static_cast<int64_t>(position.size());
    auto cost = dyn_cast<nn::CostModel>(op);
    if (!cost)
      continue;
    flops += cost.flops();
    // The type of the products decides how fast the step is.
    if (op.hasTrait<nn::IsProduct>())
      elementBytes = elementBytesOf(op.getResult(0).getType());
  }
  findFreeValues();
  findNeeds();
  findCandidates();
}

void SavedValues::findFreeValues() {
  for (BlockArgument argument : train.getArguments())
    free.insert(argument);
  for (Operation &op : train.front())
    if (isa<nn::GetParameterOp>(op) || op.hasTrait<OpTrait::ConstantLike>() ||
        (isCheapToRepeat(&op) && isFree(op.getOperand(0))))
      free.insert(op.getResult(0));
}

StringAttr SavedValues::unitOf(StringAttr name) const {
  auto parameter = symbols.lookup<nn::ParameterOp>(name);
  return parameter ? parameter->getAttrOfType<StringAttr>(nn::parameterUnitAttr)
                   : StringAttr();
}

void SavedValues::findNeeds() {
  if (!lastForward)
    return;
  int64_t lastForwardPosition = position[lastForward];
  for (Operation &op : train.front()) {
    int64_t here = position[&op];
    if (here <= lastForwardPosition || isViewOrBroadcast(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value storage = storageOf(operand);
      Operation *producer = storage.getDefiningOp();
      // What the loss's op makes besides are gradients, which nobody keeps; the
      // terminator takes the loss.
      if (producer && position[producer] < lastForwardPosition &&
          !isFree(storage) && !op.hasTrait<OpTrait::IsTerminator>())
        needs[storage].add({here, here});
    }
  }
  ParameterUses parameters(train);
  for (const ParameterUses::Use &use : parameters.uses()) {
    int64_t here = position[use.operand->getOwner()];
    StringAttr unit = unitOf(use.parameter);
    if (unit && here > lastForwardPosition)
      gathered[unit].add({here, here});
  }
}

bool SavedValues::isAllowed(Operation *op) const {
  if (!isPure(op) || !isa<nn::NNDialect>(op->getDialect()) ||
      op->hasTrait<nn::IsLoss>())
    return false;
  return rules.allows ? rules.allows(op) : isa<nn::KernelBody>(op);
}

bool SavedValues::mayRunAgain(Operation *op, Span span) const {
  if (span.isEmpty() || !isAllowed(op))
    return false;
  const ForwardRegions &regions = rules.regions;
  if (isBounded(op) && !regions.isLast(op))
    return true;
  // What is made of products would bring the region before this one along.
  if (hasNoKernel(op) || (regions.makesInput(op) && regions.isMadeOfCalls(op)))
    return false;
  // What most of backward reads would be alive for as long as if it were kept.
  int64_t backward = position.size() - position.lookup(lastForward);
  return 2 * (span.last - span.first) <= backward;
}

bool SavedValues::hasParametersAt(Operation *op, int64_t place) const {
  return llvm::all_of(parametersOf(op), [&](StringAttr name) {
    StringAttr unit = unitOf(name);
    if (!unit)
      return true;
    Span there = gathered.lookup(unit);
    if (isBounded(op) && (there.isEmpty() || rules.regions.isInOnePiece(op)))
      return true;
    return !there.isEmpty() && there.first <= place && place <= there.last;
  });
}

void SavedValues::findCandidates() {
  if (!lastForward)
    return;
  llvm::DenseMap<Value, Span> spans;
  for (auto &[value, span] : needs)
    spans[value] = span;
  SmallVector<Operation *> forward;
  for (Operation &op : train.front())
    if (position[&op] <= position[lastForward])
      forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    if (isViewOrBroadcast(op) || op->getNumResults() == 0 ||
        isFree(op->getResult(0)))
      continue;
    Span span;
    for (Value result : op->getResults())
      span.add(spans.lookup(result));
    // The loss itself is made once.
    if (op == lastForward || !mayRunAgain(op, span))
      continue;
    candidates.insert(op);
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !isFree(storage))
        spans[storage].add(span);
  }
  if (rules.fusesSums)
    findFusedSums();
}

double SavedValues::stepSeconds() const {
  return costs.compute(static_cast<double>(flops), elementBytes);
}

SavedValues::Choice
SavedValues::requiredOps(llvm::function_ref<bool(Operation *)> wanted) const {
  Choice choice;
  // Ops are taken from the last to the first, so that all that require an op
  // have been taken before it.
  std::priority_queue<std::pair<int64_t, Operation *>> pending;
  auto require = [&](Value value, int64_t reader) {
    Operation *op = value.getDefiningOp();
    if (!op || !wanted(op))
      return;
    auto [first, isNew] = choice.firstReader.try_emplace(op, reader);
    first->second = std::min(first->second, reader);
    if (isNew)
      pending.push({position.lookup(op), op});
  };
  for (auto &[value, span] : needs)
    require(value, span.first);
  while (!pending.empty()) {
    Operation *op = pending.top().second;
    pending.pop();
    choice.ops.insert(op);
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !isFree(storage))
        require(storage, choice.firstReader.lookup(op));
  }
  return choice;
}

bool SavedValues::hasParametersFor(const Choice &choice) const {
  return llvm::all_of(choice.ops, [&](Operation *op) {
    return hasParametersAt(op, choice.firstReader.lookup(op));
  });
}

OpSet SavedValues::choose(
    const OpSet &beside,
    llvm::function_ref<Wanted(RecomputationCut &)> choose) {
  for (;;) {
    if (!network) {
      SmallVector<Value> needed =
          llvm::to_vector(llvm::make_first_range(needs));
      network = std::make_unique<RecomputationCut>(
          RecomputationCut::Input{
              candidates, needed, [&](Value value) { return isFree(value); },
              [&](Value value) { return inside.contains(value); },
              gathersFor(candidates)},
          RecomputationTime(beside, lastForward, costs));
    }
    Wanted again = choose(*network);
    Choice choice =
        requiredOps([&](Operation *op) { return again.contains(op); });
    // It would have to gather.
    bool isRefused = candidates.remove_if([&](Operation *op) {
      bool refuses = choice.ops.contains(op) &&
                     !hasParametersAt(op, choice.firstReader.lookup(op));
      if (refuses)
        withoutParameters.insert(op);
      return refuses;
    });
    if (!isRefused)
      return std::move(choice.ops);
    network.reset();
  }
}

OpSet SavedValues::chooseAt(double bytesPerSecond) {
  return choose(candidates,
                [&](RecomputationCut &cut) { return cut.at(bytesPerSecond); });
}

void SavedValues::recomputeAll() {
  // A microsecond for a byte, so that nothing runs again for none.
  constexpr double bytesPerSecond = 1e6;
  hasChosen = true;
  budget = std::numeric_limits<double>::infinity();
  recomputed = affordable = chooseAt(bytesPerSecond);
}

int64_t SavedValues::bytesRead() const {
  int64_t bytes = 0;
  for (auto &[value, span] : needs)
    bytes += bytesOf(value);
  return bytes;
}

llvm::SetVector<Value> SavedValues::keptWith(const OpSet &ops) const {
  llvm::SetVector<Value> kept;
  auto keep = [&](Value value) {
    if (!isFree(value) && !ops.contains(value.getDefiningOp()))
      kept.insert(value);
  };
  for (auto &[value, span] : needs)
    keep(value);
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      keep(storageOf(operand));
  return kept;
}

int64_t SavedValues::bytesKeptWith(const OpSet &ops) const {
  int64_t bytes = 0;
  for (Value value : keptWith(ops))
    bytes += bytesOf(value);
  return bytes;
}

int64_t SavedValues::recomputedFlops() const {
  int64_t sum = 0;
  for (Operation *op : recomputed)
    if (auto cost = dyn_cast<nn::CostModel>(op))
      sum += cost.flops();
  return sum;
}

int64_t SavedValues::recomputedBytes() const {
  int64_t sum = 0;
  for (Operation *op : recomputed) {
    for (Value operand : op->getOperands())
      sum += bytesOf(storageOf(operand));
    for (Value result : op->getResults())
      sum += bytesOf(result);
  }
  return sum;
}

} // namespace shardc

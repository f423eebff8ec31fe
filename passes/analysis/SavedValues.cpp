// Which values of the forward pass are kept: a network of values and ops, and
// its minimum cut.
#include "passes/analysis/SavedValues.h"

#include "passes/analysis/MinCut.h"
#include "passes/analysis/ParameterUses.h"

#include <cmath>

using namespace mlir;

namespace shardc {

static bool looksAt(Operation *op) {
  return op && (isView(op) || isa<nn::BroadcastOp>(op));
}

Operation *lastForwardOp(func::FuncOp train) {
  return train.front().getTerminator()->getOperand(0).getDefiningOp();
}

Value storageOf(Value value) {
  while (looksAt(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void SavedValues::Span::add(Span other) {
  if (other.isEmpty())
    return;
  first = isEmpty() ? other.first : std::min(first, other.first);
  last = std::max(last, other.last);
}

SavedValues::SavedValues(func::FuncOp train, const CostModel &costs)
    : train(train), symbols(train->getParentOfType<ModuleOp>()), costs(costs),
      lastForward(lastForwardOp(train)) {
  for (Operation &op : train.front()) {
    position[&op] = static_cast<int64_t>(position.size());
    auto cost = dyn_cast<nn::CostModel>(op);
    if (!cost)
      continue;
    flops += cost.flops();
    // The type of the products decides how fast the step is.
    if (isa<nn::LinearOp, nn::MatMulOp>(op))
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

void SavedValues::findNeeds() {
  if (!lastForward)
    return;
  int64_t turn = position[lastForward];
  for (Operation &op : train.front()) {
    int64_t here = position[&op];
    if (here <= turn || looksAt(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value storage = storageOf(operand);
      Operation *producer = storage.getDefiningOp();
      // What the loss's op makes besides are gradients, which nobody keeps; the
      // terminator takes the loss.
      if (producer && position[producer] < turn && !isFree(storage) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        needs[storage].add({here, here});
    }
  }
  ParameterUses parameters(train);
  for (const ParameterUses::Use &use : parameters.uses()) {
    int64_t here = position[use.operand->getOwner()];
    auto parameter = symbols.lookup<nn::ParameterOp>(use.parameter);
    auto unit = parameter ? parameter->getAttrOfType<StringAttr>("fsdp.unit")
                          : StringAttr();
    if (unit && here > turn)
      gathered[unit].add({here, here});
  }
}

/// The parameters that an op reads, through conversions.
static SmallVector<StringAttr> parametersOf(Operation *op) {
  SmallVector<StringAttr> names;
  for (Value operand : op->getOperands()) {
    Operation *link = operand.getDefiningOp();
    while (link && isCheapToRepeat(link))
      link = link->getOperand(0).getDefiningOp();
    if (auto get = dyn_cast_or_null<nn::GetParameterOp>(link))
      names.push_back(get.getParameterAttr().getAttr());
  }
  return names;
}

bool SavedValues::mayRunAgain(Operation *op, Span span) const {
  if (span.isEmpty() || !isa<nn::KernelBody>(op) || !isPure(op) ||
      !isa<nn::NNDialect>(op->getDialect()))
    return false;
  // What most of backward reads would be alive for as long as if it were kept.
  int64_t backward = position.size() - position.lookup(lastForward);
  return 2 * (span.last - span.first) <= backward;
}

bool SavedValues::hasParametersAt(Operation *op, int64_t place) const {
  return llvm::all_of(parametersOf(op), [&](StringAttr name) {
    auto parameter = symbols.lookup<nn::ParameterOp>(name);
    auto unit = parameter ? parameter->getAttrOfType<StringAttr>("fsdp.unit")
                          : StringAttr();
    if (!unit)
      return true;
    Span there = gathered.lookup(unit);
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
    if (looksAt(op) || op->getNumResults() == 0 || isFree(op->getResult(0)))
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
}

double SavedValues::stepSeconds() const {
  return costs.compute(static_cast<double>(flops), elementBytes);
}

SavedValues::Choice SavedValues::cut(double bytesPerSecond) const {
  FlowNetwork network;
  int64_t source = network.addNode(), sink = network.addNode();
  llvm::DenseMap<Operation *, int64_t> nodes;
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> values; // made, at hand
  auto valueNodes = [&](Value value) {
    auto [entry, isNew] = values.try_emplace(value);
    if (isNew) {
      entry->second = {network.addNode(), network.addNode()};
      network.addEdge(entry->second.first, entry->second.second,
                      bytesOf(value));
    }
    return entry->second;
  };
  // No value has so many bytes, and sums of them have room.
  constexpr double mostPrice = 1e15;
  RecomputationTime time(candidates, lastForward, costs);
  for (Operation *op : candidates) {
    int64_t node = nodes[op] = network.addNode();
    network.addEdge(source, node,
                    static_cast<int64_t>(
                        std::min(time.of(op) * bytesPerSecond, mostPrice)));
    for (Value result : op->getResults())
      network.addEdge(node, valueNodes(result).first, FlowNetwork::unlimited);
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !isFree(storage))
        network.addEdge(valueNodes(storage).second, node,
                        FlowNetwork::unlimited);
  }
  for (auto &[value, span] : needs)
    network.addEdge(valueNodes(value).second, sink, FlowNetwork::unlimited);
  for (auto &[value, pair] : values)
    if (!candidates.contains(value.getDefiningOp()))
      network.addEdge(source, pair.first, FlowNetwork::unlimited);

  FlowNetwork::Cut cut = network.minCut(source, sink);
  return askedFor([&](Operation *op) {
    return candidates.contains(op) && !cut.withSource[nodes.lookup(op)];
  });
}

SavedValues::Choice
SavedValues::askedFor(llvm::function_ref<bool(Operation *)> wanted) const {
  Choice choice;
  SmallVector<std::pair<Value, int64_t>> asked;
  for (auto &[value, span] : needs)
    asked.push_back({value, span.first});
  while (!asked.empty()) {
    auto [value, reader] = asked.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !wanted(op))
      continue;
    auto [first, isNew] = choice.firstReader.try_emplace(op, reader);
    if (!isNew && first->second <= reader)
      continue;
    first->second = reader;
    choice.ops.insert(op);
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !isFree(storage))
        asked.push_back({storage, reader});
  }
  return choice;
}

bool SavedValues::hasParametersFor(const Choice &choice) const {
  return llvm::all_of(choice.ops, [&](Operation *op) {
    return hasParametersAt(op, choice.firstReader.lookup(op));
  });
}

OpSet SavedValues::chooseAt(double bytesPerSecond) {
  for (;;) {
    Choice choice = cut(bytesPerSecond);
    // It would have to gather.
    bool isRefused = candidates.remove_if([&](Operation *op) {
      return choice.ops.contains(op) &&
             !hasParametersAt(op, choice.firstReader.lookup(op));
    });
    if (!isRefused)
      return choice.ops;
  }
}

void SavedValues::recomputeCheap(double movedPerSaved, double mostTime) {
  double budget = mostTime * stepSeconds();
  double low = costs.cluster.memoryBandwidth / movedPerSaved;
  recomputed = chooseAt(low);
  if (secondsOf(recomputed) <= budget)
    return;
  // A higher price gives up what saves least for its time. Two prices close to
  // each other, of which one allows too much and one does not:
  OpSet more = recomputed, less;
  constexpr int mostDoublings = 40;
  constexpr double close = 1.01;
  double high = low;
  for (int round = 0; round < mostDoublings; ++round) {
    high *= 2;
    less = chooseAt(high);
    if (secondsOf(less) <= budget)
      break;
    low = high;
    more = std::move(less);
    less.clear();
  }
  while (high > low * close) {
    double middle = std::sqrt(low * high);
    OpSet between = chooseAt(middle);
    if (secondsOf(between) <= budget) {
      high = middle;
      less = std::move(between);
    } else {
      low = middle;
      more = std::move(between);
    }
  }
  recomputed = fillUp(less, more, budget);
}

int64_t SavedValues::bytesRead() const {
  int64_t bytes = 0;
  for (auto &[value, span] : needs)
    bytes += bytesOf(value);
  return bytes;
}

int64_t SavedValues::bytesKept() const {
  llvm::SetVector<Value> kept;
  auto keep = [&](Value value) {
    if (!isFree(value) && !isRecomputed(value.getDefiningOp()))
      kept.insert(value);
  };
  for (auto &[value, span] : needs)
    keep(value);
  for (Operation *op : recomputed)
    for (Value operand : op->getOperands())
      keep(storageOf(operand));
  int64_t bytes = 0;
  for (Value value : kept)
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

// From ops and values to numbers and back.
#include "passes/analyses/RecomputationCut.h"

#include "passes/analyses/RecomputationSolver.h"
#include "passes/analyses/SavedValues.h"

using namespace mlir;

namespace shardc {

RecomputationCut::RecomputationCut(const Input &input, RecomputationTime time) {
  // A gather makes a value that nothing else has.
  llvm::DenseMap<Operation *, SmallVector<int64_t>> gathersOf;
  for (const ExtraGather &gather : input.gathers) {
    auto op = static_cast<int64_t>(graph.ops.size());
    auto value = static_cast<int64_t>(graph.values.size());
    graph.ops.push_back({gather.seconds, {}});
    ops.push_back(nullptr);
    graph.values.push_back({RecomputationGraph::unkeepable, op, false});
    for (Operation *reader : gather.readers)
      gathersOf[reader].push_back(value);
  }
  for (Operation *op : llvm::reverse(input.candidates)) {
    RecomputationGraph::Op node{time.of(op), {}};
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !input.isFree(storage))
        node.operands.push_back(valueOf(storage, input));
    llvm::append_range(node.operands, gathersOf.lookup(op));
    for (Value result : op->getResults())
      graph.values[valueOf(result, input)].producer =
          static_cast<int64_t>(graph.ops.size());
    graph.ops.push_back(std::move(node));
    ops.push_back(op);
  }
  for (Value value : input.needed)
    graph.values[valueOf(value, input)].isNeeded = true;
}

int64_t RecomputationCut::valueOf(Value value, const Input &input) {
  auto [entry, isNew] =
      values.try_emplace(value, static_cast<int64_t>(graph.values.size()));
  if (isNew)
    graph.values.push_back({input.isInside(value)
                                ? RecomputationGraph::unkeepable
                                : bytesOf(value),
                            -1, false});
  return entry->second;
}

llvm::DenseSet<Operation *>
RecomputationCut::opsOf(const std::vector<bool> &again) const {
  llvm::DenseSet<Operation *> result;
  for (size_t op = 0; op < ops.size(); ++op)
    if (again[op] && ops[op])
      result.insert(ops[op]);
  return result;
}

llvm::DenseSet<Operation *> RecomputationCut::at(double bytesPerSecond) {
  if (!network)
    network.emplace(graph);
  return opsOf(network->at(bytesPerSecond));
}

llvm::DenseSet<Operation *> RecomputationCut::within(double seconds) const {
  return opsOf(RecomputationSolver(graph).leastBytes(seconds).again);
}

std::optional<llvm::DenseSet<Operation *>>
RecomputationCut::downTo(int64_t bytes) const {
  auto choice = RecomputationSolver(graph).leastSeconds(bytes);
  if (!choice)
    return std::nullopt;
  return opsOf(choice->again);
}

int64_t RecomputationCut::fewestBytes() const {
  return RecomputationSolver(graph).fewestBytes().bytes;
}

} // namespace shardc

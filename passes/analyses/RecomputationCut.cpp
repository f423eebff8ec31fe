// Nodes for ops and for values, which are made and then at hand.
#include "passes/analyses/RecomputationCut.h"

#include "passes/analyses/SavedValues.h"

using namespace mlir;

namespace shardc {

RecomputationCut::RecomputationCut(const OpSet &candidates,
                                   ArrayRef<Value> needed,
                                   llvm::function_ref<bool(Value)> isFree,
                                   RecomputationTime time)
    : source(network.addNode()), sink(network.addNode()) {
  llvm::MapVector<Value, std::pair<int64_t, int64_t>> values; // made, at hand
  auto valueNodes = [&](Value value) {
    auto [entry, isNew] = values.try_emplace(value);
    if (isNew) {
      entry->second = {network.addNode(), network.addNode()};
      network.addEdge(entry->second.first, entry->second.second,
                      bytesOf(value));
    }
    return entry->second;
  };
  for (Operation *op : candidates) {
    int64_t node = network.addNode();
    ops.push_back({op, node, network.addEdge(source, node, 0), time.of(op)});
    for (Value result : op->getResults())
      network.addEdge(node, valueNodes(result).first, FlowNetwork::unlimited);
    for (Value operand : op->getOperands())
      if (Value storage = storageOf(operand); !isFree(storage))
        network.addEdge(valueNodes(storage).second, node,
                        FlowNetwork::unlimited);
  }
  for (Value value : needed)
    network.addEdge(valueNodes(value).second, sink, FlowNetwork::unlimited);
  for (auto &[value, pair] : values)
    if (!candidates.contains(value.getDefiningOp()))
      network.addEdge(source, pair.first, FlowNetwork::unlimited);
}

llvm::DenseSet<Operation *> RecomputationCut::at(double bytesPerSecond) {
  // No value has so many bytes, and sums of them have room.
  constexpr double mostPrice = 1e15;
  for (const OpNode &op : ops)
    network.setCapacity(op.edge, static_cast<int64_t>(std::min(
                                     op.seconds * bytesPerSecond, mostPrice)));
  FlowNetwork::Cut cut = network.minCut(source, sink);
  llvm::DenseSet<Operation *> again;
  for (const OpNode &op : ops)
    if (!cut.withSource[op.node])
      again.insert(op.op);
  return again;
}

} // namespace shardc

// Nodes for ops and for values, which are made and then at hand.
#include "passes/analyses/RecomputationGraph.h"

#include <algorithm>
#include <utility>

namespace shardc {

RecomputationGraph::Choice
RecomputationGraph::evaluate(const std::vector<bool> &again) const {
  Choice choice;
  choice.again.assign(ops.size(), false);
  std::vector<bool> isRead(values.size());
  auto read = [&](int64_t value) {
    isRead[value] = true;
    if (int64_t producer = values[value].producer;
        producer >= 0 && again[producer])
      choice.again[producer] = true;
  };
  for (size_t value = 0; value < values.size(); ++value)
    if (values[value].isNeeded)
      read(value);
  // From the last to the first: what reads an op's result stands behind it.
  for (size_t op = ops.size(); op-- > 0;)
    if (choice.again[op]) {
      choice.seconds += ops[op].seconds;
      for (int64_t operand : ops[op].operands)
        read(operand);
    }
  for (size_t value = 0; value < values.size(); ++value)
    if (int64_t producer = values[value].producer;
        isRead[value] && !(producer >= 0 && choice.again[producer]))
      choice.bytes += values[value].bytes;
  return choice;
}

std::vector<bool> RecomputationGraph::keptValues(const Choice &choice) const {
  std::vector<bool> kept(values.size());
  auto read = [&](int64_t value) {
    int64_t producer = values[value].producer;
    kept[value] = !(producer >= 0 && choice.again[producer]);
  };
  for (size_t value = 0; value < values.size(); ++value)
    if (values[value].isNeeded)
      read(value);
  for (size_t op = 0; op < ops.size(); ++op)
    if (choice.again[op])
      for (int64_t operand : ops[op].operands)
        read(operand);
  return kept;
}

RecomputationNetwork::RecomputationNetwork(const RecomputationGraph &graph,
                                           int64_t fineness)
    : source(network.addNode()), sink(network.addNode()), fineness(fineness) {
  std::vector<std::pair<int64_t, int64_t>> values; // made, at hand
  for (const RecomputationGraph::Op &op : graph.ops) {
    int64_t node = network.addNode();
    ops.push_back({node, network.addEdge(source, node, 0),
                   network.addEdge(node, sink, 0), op.seconds});
  }
  for (const RecomputationGraph::Value &value : graph.values) {
    int64_t made = network.addNode(), there = network.addNode();
    values.emplace_back(made, there);
    network.addEdge(made, there,
                    value.bytes == RecomputationGraph::unkeepable
                        ? FlowNetwork::unlimited
                        : value.bytes * fineness);
    network.addEdge(value.producer < 0 ? source : ops[value.producer].node,
                    made, FlowNetwork::unlimited);
    if (value.isNeeded)
      network.addEdge(there, sink, FlowNetwork::unlimited);
  }
  for (size_t op = 0; op < ops.size(); ++op)
    for (int64_t operand : graph.ops[op].operands)
      network.addEdge(values[operand].second, ops[op].node,
                      FlowNetwork::unlimited);
}

void RecomputationNetwork::fix(int64_t op, Fixed how) {
  ops[op].fixed = how;
  network.setCapacity(ops[op].demand,
                      how == Fixed::Again ? FlowNetwork::unlimited : 0);
}

std::vector<bool> RecomputationNetwork::at(double bytesPerSecond) {
  // No value has so many bytes, and sums of them have room.
  constexpr double mostPrice = 1e15;
  for (const OpNode &op : ops) {
    double price = std::min(
        op.seconds * bytesPerSecond * static_cast<double>(fineness), mostPrice);
    network.setCapacity(op.price, op.fixed == Fixed::Kept
                                      ? FlowNetwork::unlimited
                                      : static_cast<int64_t>(price));
  }
  FlowNetwork::Cut cut = network.minCut(source, sink);
  std::vector<bool> again;
  for (const OpNode &op : ops)
    again.push_back(!cut.withSource[op.node]);
  return again;
}

} // namespace shardc

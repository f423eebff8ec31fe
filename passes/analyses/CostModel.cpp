// Formulas for rings, and how amounts are written.
#include "passes/analyses/CostModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace shardc;

static CollectiveTime ring(double bytes, int64_t size, const Link &link) {
  if (size <= 1)
    return {};
  return {(size - 1) * link.latency,
          bytes * (size - 1) / size / link.bandwidth};
}

/// Up and down again.
static CollectiveTime tree(double bytes, int64_t size, const Link &link) {
  if (size <= 1)
    return {};
  return {2 * llvm::Log2_64_Ceil(size) * link.latency,
          2 * bytes / link.bandwidth};
}

/// One behind the other: `between` nodes, then `inside`.
static CollectiveTime sum(CollectiveTime between, CollectiveTime inside) {
  return {between.latency + inside.latency, between.transfer + inside.transfer,
          between.transfer};
}

/// How many members of a group are in one node, where they are neighbours in
/// the group, and how many nodes it is on.
static std::pair<int64_t, int64_t> placesOf(RankGroup group,
                                            const Cluster &cluster) {
  int64_t inNode =
      std::clamp<int64_t>(cluster.ranksPerNode / group.stride, 1, group.size);
  return {inNode, (group.size + inNode - 1) / inNode};
}

CollectiveTime CostModel::allGather(double bytes, RankGroup group) const {
  auto [inNode, nodes] = placesOf(group, cluster);
  return sum(ring(bytes / inNode, nodes, cluster.betweenNodes),
             ring(bytes, inNode, cluster.insideNode));
}

CollectiveTime CostModel::allReduce(double bytes, RankGroup group) const {
  CollectiveTime half = allGather(bytes, group);
  CollectiveTime rings{2 * half.latency, 2 * half.transfer, 2 * half.between};
  auto [inNode, nodes] = placesOf(group, cluster);
  CollectiveTime trees = sum(tree(bytes, nodes, cluster.betweenNodes),
                             tree(bytes, inNode, cluster.insideNode));
  return trees.total() < rings.total() ? trees : rings;
}

CollectiveTime CostModel::allToAll(double bytes, RankGroup group) const {
  auto [inNode, nodes] = placesOf(group, cluster);
  return sum(ring(bytes, nodes, cluster.betweenNodes),
             ring(bytes, inNode, cluster.insideNode));
}

/// Three digits and a unit, of which each is 1000 of the one before.
static std::string readable(double amount, llvm::ArrayRef<const char *> units) {
  size_t index = 0;
  for (; amount >= 999.5 && index + 1 < units.size(); ++index)
    amount /= 1000;
  int digits = index == 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
  std::string number = digits == 0   ? llvm::formatv("{0:f0}", amount).str()
                       : digits == 1 ? llvm::formatv("{0:f1}", amount).str()
                                     : llvm::formatv("{0:f2}", amount).str();
  return number + " " + units[index];
}

std::string shardc::bytesText(double bytes) {
  return readable(bytes, {"B", "kB", "MB", "GB", "TB"});
}

std::string shardc::operationsText(double operations) {
  return readable(operations,
                  {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"});
}

std::string shardc::timeText(double seconds) {
  return readable(seconds * 1e9, {"ns", "us", "ms", "s"});
}

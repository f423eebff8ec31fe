// Cuts of networks, against a search through all of them.
#include "passes/analyses/MinCut.h"

#include <gtest/gtest.h>

#include <random>

using namespace shardc;

namespace {

struct Link {
  int64_t from, to, capacity;
};

FlowNetwork network(int64_t nodes, const std::vector<Link> &links) {
  FlowNetwork result;
  for (int64_t node = 0; node < nodes; ++node)
    result.addNode();
  for (const Link &link : links)
    result.addEdge(link.from, link.to, link.capacity);
  return result;
}

int64_t capacityOf(const std::vector<Link> &links, auto withSource) {
  int64_t sum = 0;
  for (const Link &link : links)
    if (withSource(link.from) && !withSource(link.to))
      sum += link.capacity;
  return sum;
}

TEST(MinCut, isTheCheapestOfAllPartitions) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    int64_t nodes = 2 + random() % 7;
    std::vector<Link> links;
    for (int i = random() % 20; i > 0; --i)
      links.push_back({int64_t(random() % nodes), int64_t(random() % nodes),
                       int64_t(random() % 10)});
    int64_t best = FlowNetwork::unlimited;
    for (int64_t side = 0; side < (int64_t(1) << nodes); ++side)
      if ((side & 1) && !(side & 2)) // the source is node 0, the sink node 1
        best = std::min(best, capacityOf(links, [&](int64_t node) {
                          return (side >> node & 1) != 0;
                        }));
    FlowNetwork::Cut cut = network(nodes, links).minCut(0, 1);
    EXPECT_EQ(cut.capacity, best);
    EXPECT_TRUE(cut.withSource[0]);
    EXPECT_FALSE(cut.withSource[1]);
    EXPECT_EQ(
        capacityOf(links, [&](int64_t node) { return cut.withSource[node]; }),
        best);
  }
}

TEST(MinCut, leavesTheLeastWithTheSource) {
  // Both edges of 0 -> 2 -> 1 are cuts of 5.
  FlowNetwork::Cut cut = network(3, {{0, 2, 5}, {2, 1, 5}}).minCut(0, 1);
  EXPECT_FALSE(cut.withSource[2]);
}

TEST(MinCut, goesThroughNetworksAsDeepAsModels) {
  std::vector<Link> links;
  int64_t nodes = 100000;
  for (int64_t node = 0; node + 1 < nodes; ++node)
    links.push_back({node, node + 1, node == 70000 ? 3 : 9});
  FlowNetwork::Cut cut = network(nodes, links).minCut(0, nodes - 1);
  EXPECT_EQ(cut.capacity, 3);
  EXPECT_TRUE(cut.withSource[70000]);
  EXPECT_FALSE(cut.withSource[70001]);
}

TEST(MinCut, saysWhenNothingMayBeCut) {
  EXPECT_GE(network(2, {{0, 1, FlowNetwork::unlimited}}).minCut(0, 1).capacity,
            FlowNetwork::unlimited);
}

} // namespace

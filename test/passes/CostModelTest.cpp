// Times of collectives against a ring that is played step by step, and how
// amounts read.
#include "passes/analyses/CostModel.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace shardc;

namespace {

Cluster machine(int64_t ranksPerNode) {
  Cluster cluster;
  cluster.ranksPerNode = ranksPerNode;
  cluster.insideNode = {100e9, 2e-6};
  cluster.betweenNodes = {10e9, 10e-6};
  cluster.memory = 80e9;
  cluster.flops16 = 800e12, cluster.flops32 = 60e12, cluster.flops64 = 30e12;
  return cluster;
}

/// Every rank passes on what it received last, until each has all slices.
CollectiveTime playRing(int64_t size, double slice, Link link) {
  std::vector<std::set<int64_t>> held(size);
  std::vector<int64_t> last(size);
  for (int64_t rank = 0; rank < size; ++rank)
    held[rank] = {last[rank] = rank};
  CollectiveTime time;
  while (held[0].size() < size_t(size)) {
    std::vector<int64_t> sent = last;
    for (int64_t rank = 0; rank < size; ++rank)
      held[(rank + 1) % size].insert(last[(rank + 1) % size] = sent[rank]);
    time.latency += link.latency;
    time.transfer += slice / link.bandwidth;
  }
  for (const std::set<int64_t> &slices : held)
    EXPECT_EQ(slices.size(), size_t(size));
  return time;
}

void expectTime(CollectiveTime got, CollectiveTime want) {
  EXPECT_NEAR(got.latency, want.latency, 1e-12);
  EXPECT_NEAR(got.transfer, want.transfer, 1e-12);
}

TEST(CostModel, gathersAsARingDoes) {
  CostModel model(machine(8));
  const double bytes = 24e6;
  for (int64_t size : {1, 2, 3, 8})
    expectTime(model.allGather(bytes, {1, size}),
               playRing(size, bytes / size, model.cluster.insideNode));
  // One rank per node: the ranks of a replicate group.
  expectTime(model.allGather(bytes, {8, 4}),
             playRing(4, bytes / 4, model.cluster.betweenNodes));
}

TEST(CostModel, sumsFewBytesInATree) {
  CostModel model(machine(8));
  // Eight nodes of eight: three turns up and three down between nodes and
  // inside, where rings have 14 and 14.
  expectTime(model.allReduce(544, {1, 64}),
             {6 * 10e-6 + 6 * 2e-6, 2 * 544 / 10e9 + 2 * 544 / 100e9});
  // Many bytes go through rings, which between nodes move an eighth of them.
  CollectiveTime once = model.allGather(1e9, {1, 64});
  expectTime(model.allReduce(1e9, {1, 64}),
             {2 * once.latency, 2 * once.transfer});
  EXPECT_NEAR(once.between, 1e9 / 8 * 7 / 8 / 10e9, 1e-12);
  EXPECT_EQ(model.allReduce(544, {1, 1}).total(), 0);
}

TEST(CostModel, gathersBetweenNodesFirst) {
  CostModel model(machine(8));
  const double bytes = 24e6;
  CollectiveTime between = playRing(3, bytes / 24, model.cluster.betweenNodes);
  CollectiveTime inside = playRing(8, bytes / 8, model.cluster.insideNode);
  expectTime(
      model.allGather(bytes, {1, 24}),
      {between.latency + inside.latency, between.transfer + inside.transfer});
  // Every fourth rank: two of a node.
  between = playRing(3, bytes / 6, model.cluster.betweenNodes);
  inside = playRing(2, bytes / 2, model.cluster.insideNode);
  expectTime(
      model.allGather(bytes, {4, 6}),
      {between.latency + inside.latency, between.transfer + inside.transfer});
}

TEST(CostModel, addsGradientsInTwiceTheTime) {
  CostModel model(machine(8));
  CollectiveTime half = model.reduceScatter(1e9, {1, 8});
  expectTime(half, model.allGather(1e9, {1, 8}));
  expectTime(model.allReduce(1e9, {1, 8}),
             {2 * half.latency, 2 * half.transfer});
  EXPECT_DOUBLE_EQ(half.total(), half.latency + half.transfer);
}

TEST(CostModel, sendsToAllFromAll) {
  CostModel model(machine(8));
  // Of 24 ranks on three nodes: two messages between these, seven inside.
  CollectiveTime time = model.allToAll(24e6, {1, 24});
  expectTime(time, {2 * 10e-6 + 7 * 2e-6, 16e6 / 10e9 + 21e6 / 100e9});
  EXPECT_NEAR(time.between, 16e6 / 10e9, 1e-12);
  EXPECT_EQ(model.allToAll(24e6, {1, 1}).total(), 0);
}

TEST(CostModel, computesAtTheRateOfTheType) {
  CostModel model(machine(8));
  EXPECT_DOUBLE_EQ(model.compute(8e12, 2), 0.01);
  EXPECT_DOUBLE_EQ(model.compute(6e12, 4), 0.1);
  EXPECT_DOUBLE_EQ(model.compute(3e12, 8), 0.1);
}

TEST(CostModel, writesAmountsInThreeDigits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(999.7), "1.00 kB");
  EXPECT_EQ(bytesText(28.34e6), "28.3 MB");
  EXPECT_EQ(bytesText(9.996e6), "10.0 MB");
  EXPECT_EQ(bytesText(99.96e6), "100 MB");
  EXPECT_EQ(bytesText(4.2e9), "4.20 GB");
  EXPECT_EQ(timeText(22e-6), "22.0 us");
  EXPECT_EQ(timeText(310e-9), "310 ns");
  EXPECT_EQ(timeText(1.3e-3), "1.30 ms");
  EXPECT_EQ(timeText(0), "0 ns");
}

} // namespace

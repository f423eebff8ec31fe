// What runs again under a limit, against a search through all choices.
#include "passes/analyses/RecomputationSolver.h"

#include "passes/analyses/Knapsack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

using namespace shardc;

namespace {

using Graph = RecomputationGraph;

/// Appends a part of a model: some values that are there, ops that read them
/// and each other's results, of which backward reads some.
void addPart(Graph &graph, std::mt19937 &random, int64_t ops) {
  auto first = static_cast<int64_t>(graph.values.size());
  for (int64_t i = 0; i < 2; ++i)
    graph.values.push_back({int64_t(random() % 50), -1, random() % 2 == 0});
  for (int64_t i = 0; i < ops; ++i) {
    Graph::Op op{double(random() % 100) / 10, {}};
    for (int64_t reads = 1 + int64_t(random() % 2); reads > 0; --reads)
      op.operands.push_back(
          first + int64_t(random() %
                          (graph.values.size() - static_cast<size_t>(first))));
    int64_t bytes = random() % 20 == 0 ? Graph::unkeepable : random() % 100;
    graph.values.push_back({bytes, int64_t(graph.ops.size()),
                            bytes != Graph::unkeepable && random() % 3 > 0});
    graph.ops.push_back(std::move(op));
  }
}

/// Every choice that no other is better than in bytes and seconds.
std::map<double, double> frontOf(const Graph &graph) {
  std::map<double, double> front; // seconds -> bytes
  for (uint64_t bits = 0; bits < uint64_t(1) << graph.ops.size(); ++bits) {
    std::vector<bool> again;
    for (size_t op = 0; op < graph.ops.size(); ++op)
      again.push_back((bits >> op & 1) != 0);
    Graph::Choice choice = graph.evaluate(again);
    auto [entry, isNew] = front.try_emplace(choice.seconds, choice.bytes);
    entry->second = std::min(entry->second, double(choice.bytes));
  }
  return front;
}

/// The front of two parts that share nothing.
std::map<double, double> sumOf(const std::map<double, double> &a,
                               const std::map<double, double> &b) {
  std::map<double, double> sum, front;
  for (auto [seconds, bytes] : a)
    for (auto [more, others] : b) {
      auto [entry, isNew] = sum.try_emplace(seconds + more, bytes + others);
      entry->second = std::min(entry->second, bytes + others);
    }
  double least = std::numeric_limits<double>::infinity();
  for (auto [seconds, bytes] : sum)
    if (bytes < least) {
      front[seconds] = bytes;
      least = bytes;
    }
  return front;
}

double leastBytes(const std::map<double, double> &front, double seconds) {
  double least = std::numeric_limits<double>::infinity();
  for (auto [time, bytes] : front)
    if (time <= seconds + 1e-9)
      least = std::min(least, bytes);
  return least;
}

double leastSeconds(const std::map<double, double> &front, double bytes) {
  for (auto [time, kept] : front) // ascending
    if (kept <= bytes)
      return time;
  return std::numeric_limits<double>::infinity();
}

void compare(const Graph &graph, const std::map<double, double> &front,
             std::mt19937 &random) {
  RecomputationSolver solver(graph);
  double longest = front.rbegin()->first;
  double seconds = longest * double(random() % 1000) / 1000;
  Graph::Choice fewest = solver.leastBytes(seconds);
  double exact = leastBytes(front, seconds);
  EXPECT_LE(fewest.seconds, seconds + 1e-9);
  EXPECT_LE(double(fewest.bytes), exact * 1.01);
  EXPECT_GE(double(fewest.bytes), exact);
  EXPECT_LE(solver.bound(), exact + 1e-6);

  double few = double(solver.fewestBytes().bytes);
  EXPECT_EQ(few, leastBytes(front, longest));
  double most = leastBytes(front, 0);
  auto bytes = int64_t(few + (most - few) * double(random() % 1000) / 1000);
  auto quickest = solver.leastSeconds(bytes);
  ASSERT_TRUE(quickest.has_value());
  EXPECT_LE(quickest->bytes, bytes);
  double best = leastSeconds(front, double(bytes));
  EXPECT_LE(quickest->seconds, best * 1.01 + 1e-9);
  EXPECT_GE(quickest->seconds, best - 1e-9);
  EXPECT_LE(solver.bound(), best + 1e-6);
  EXPECT_FALSE(solver.leastSeconds(int64_t(few) - 1).has_value());
}

TEST(RecomputationSolver, isAsGoodAsTheBestOfAllChoices) {
  std::mt19937 random(3);
  for (int round = 0; round < 150; ++round) {
    Graph graph;
    addPart(graph, random, 1 + int64_t(random() % 12));
    compare(graph, frontOf(graph), random);
  }
}

TEST(RecomputationSolver, isAsGoodAsTheBestOfFortyValues) {
  // Four parts of ten values, unlike each other or all alike.
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    Graph graph;
    std::map<double, double> front = {{0, 0}};
    unsigned seed = random();
    for (int part = 0; part < 4; ++part) {
      std::mt19937 own(round % 2 ? seed : seed + part);
      Graph alone;
      std::mt19937 same = own;
      addPart(alone, same, 8);
      front = sumOf(front, frontOf(alone));
      addPart(graph, own, 8);
    }
    ASSERT_EQ(graph.values.size(), 40u);
    compare(graph, front, random);
  }
}

TEST(RecomputationSolver, dividesAModelOfManyLayersQuickly) {
  // 126 layers, each of twenty ops: a time between two layers' is used up.
  std::mt19937 random(9);
  Graph graph;
  unsigned seed = random();
  for (int layer = 0; layer < 126; ++layer) {
    std::mt19937 same(seed);
    addPart(graph, same, 20);
  }
  RecomputationSolver solver(graph);
  Graph::Choice all = solver.fewestBytes();
  auto start = std::chrono::steady_clock::now();
  for (double share : {0.1, 0.35, 0.8}) {
    Graph::Choice choice = solver.leastBytes(share * all.seconds);
    EXPECT_LE(choice.seconds, share * all.seconds * (1 + 1e-9));
    EXPECT_LE(double(choice.bytes), solver.bound() * 1.01);
    auto down = solver.leastSeconds(choice.bytes);
    ASSERT_TRUE(down.has_value());
    EXPECT_LE(down->seconds, solver.bound() * 1.03);
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds_each", int(took.count() * 1000 / 6));
  EXPECT_LT(took.count(), 6); // a few times what six take on a busy machine
}

TEST(RecomputationSolver, keepsWhatNothingMakes) {
  Graph graph;
  graph.values.push_back({7, -1, true});
  RecomputationSolver solver(graph);
  EXPECT_EQ(solver.leastBytes(1).bytes, 7);
  EXPECT_EQ(solver.leastSeconds(7)->seconds, 0);
  EXPECT_FALSE(solver.leastSeconds(6).has_value());
}

TEST(RecomputationSolver, runsTheFirstOfEqualsAgain) {
  // Their values would live longest.
  Graph graph;
  for (int64_t op = 0; op < 4; ++op) {
    graph.ops.push_back({1, {}});
    graph.values.push_back({10, op, true});
  }
  RecomputationSolver solver(graph);
  std::vector<bool> firstTwo = {true, true, false, false};
  EXPECT_EQ(solver.leastBytes(2).again, firstTwo);
  EXPECT_EQ(solver.leastSeconds(20)->again, firstTwo);
}

TEST(RecomputationSolver, makesWhatMayNotBeKeptWithItsReader) {
  // A gather of 3 s, and what reads it.
  Graph graph;
  graph.ops = {{3, {}}, {1, {0}}};
  graph.values = {{Graph::unkeepable, 0, false}, {10, 1, true}};
  RecomputationSolver solver(graph);
  EXPECT_EQ(solver.leastBytes(3.5).bytes, 10);
  EXPECT_EQ(solver.leastBytes(4).bytes, 0);
  EXPECT_EQ(solver.leastSeconds(0)->seconds, 4);
}

TEST(Knapsack, isFullOfWhatIsWorthMost) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> sizes, worths;
    for (int i = 1 + int(random() % 10); i > 0; --i) {
      sizes.push_back(1 + int(random() % 30));
      worths.push_back(1 + int(random() % 30));
    }
    double room = random() % 100, best = 0, mine = 0, used = 0;
    for (unsigned bits = 0; bits < 1u << sizes.size(); ++bits) {
      double size = 0, worth = 0;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (bits >> i & 1) {
          size += sizes[i];
          worth += worths[i];
        }
      if (size <= room)
        best = std::max(best, worth);
    }
    std::vector<bool> packed = packKnapsack(sizes, worths, room);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (packed[i]) {
        used += sizes[i];
        mine += worths[i];
      }
    EXPECT_LE(used, room);
    EXPECT_EQ(mine, best);
  }
}

TEST(Knapsack, takesTheFirstOfEquals) {
  std::vector<bool> packed = packKnapsack({2, 2, 2, 2}, {5, 5, 5, 5}, 5);
  EXPECT_EQ(packed, std::vector<bool>({true, true, false, false}));
}

} // namespace

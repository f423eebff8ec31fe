// Who gets which matrix: everybody as much as any other, one at a time.
#include "passes/units/MatrixOwners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using namespace shardc;

namespace {

double largest(llvm::ArrayRef<double> loads) {
  return *std::max_element(loads.begin(), loads.end());
}

/// Checks what every deal promises.
void expectSound(const std::vector<MatrixShape> &matrices, int64_t ranks,
                 const MatrixDeal &deal) {
  ASSERT_EQ(deal.owners.size(), matrices.size());
  ASSERT_EQ(deal.slots.size(), matrices.size());
  std::set<std::pair<int64_t, int64_t>> taken;
  std::map<int64_t, int64_t> uses; // of a slot
  for (size_t i = 0; i < matrices.size(); ++i) {
    ASSERT_GE(deal.owners[i], 0);
    ASSERT_LT(deal.owners[i], ranks);
    ASSERT_LT(size_t(deal.slots[i]), deal.slotShapes.size());
    EXPECT_EQ(deal.slotShapes[deal.slots[i]], matrices[i]);
    EXPECT_TRUE(taken.emplace(deal.owners[i], deal.slots[i]).second)
        << "two matrices in one place";
    ++uses[deal.slots[i]];
  }
  // No more slots than rounds: all but the last of a shape are full.
  std::map<std::pair<int64_t, int64_t>, int64_t> partial;
  for (size_t slot = 0; slot < deal.slotShapes.size(); ++slot) {
    EXPECT_GT(uses[slot], 0);
    if (uses[slot] < ranks)
      ++partial[{deal.slotShapes[slot].rows, deal.slotShapes[slot].columns}];
  }
  for (auto [shape, count] : partial)
    EXPECT_EQ(count, 1);
}

TEST(MatrixOwners, EqualBlocksGoRoundEvenly) {
  std::vector<MatrixShape> blocks;
  for (int i = 0; i < 8; ++i)
    for (MatrixShape shape : {MatrixShape{64, 64}, {16, 64}, {192, 64}})
      blocks.push_back(shape);
  MatrixOwners owners(8);
  MatrixDeal deal = owners.deal(blocks);
  expectSound(blocks, 8, deal);
  EXPECT_EQ(deal.slotShapes.size(), 3u);
  for (double load : owners.loads())
    EXPECT_DOUBLE_EQ(load, owners.loads()[0]);
}

TEST(MatrixOwners, WhatIsLeftGoesToWhoHasLeast) {
  // Two large ones and four of half their cost, on four ranks.
  double half = matrixCost({8, 8}) / 2;
  EXPECT_DOUBLE_EQ(matrixCost({8, 8}), 6 * 512);
  EXPECT_DOUBLE_EQ(matrixCost({8, 2}), matrixCost({2, 8}));
  std::vector<MatrixShape> matrices = {{8, 8}, {8, 8}, {4, 44}, {4, 44}};
  MatrixOwners owners(4);
  MatrixDeal deal = owners.deal(matrices);
  expectSound(matrices, 4, deal);
  EXPECT_EQ(std::set(deal.owners.begin(), deal.owners.end()).size(), 4u);
  EXPECT_LE(largest(owners.loads()), 2 * half);
}

TEST(MatrixOwners, LoadsAreRememberedBetweenDeals) {
  std::vector<MatrixShape> one = {{32, 32}};
  MatrixOwners owners(3);
  std::set<int64_t> seen;
  for (int i = 0; i < 3; ++i)
    seen.insert(owners.deal(one).owners[0]);
  EXPECT_EQ(seen.size(), 3u);
}

TEST(MatrixOwners, NoRankHasMuchMoreThanTheMean) {
  // Not more than one of each shape above an even share.
  std::vector<MatrixShape> shapes = {{96, 32}, {32, 32}, {32, 96}, {7, 50}};
  for (int64_t ranks : {1, 2, 3, 5, 8, 64})
    for (int count : {1, 5, 13}) {
      std::vector<MatrixShape> matrices;
      double total = 0, slack = 0;
      for (int i = 0; i < count; ++i)
        for (MatrixShape shape : shapes) {
          matrices.push_back(shape);
          total += matrixCost(shape);
          slack = std::max(slack, matrixCost(shape));
        }
      MatrixOwners owners(ranks);
      expectSound(matrices, ranks, owners.deal(matrices));
      EXPECT_LE(largest(owners.loads()), total / double(ranks) + slack)
          << ranks << " ranks, " << count << " blocks";
    }
}

TEST(MatrixOwners, OneRankHasAll) {
  std::vector<MatrixShape> matrices(3, {4, 6});
  MatrixDeal deal = MatrixOwners(1).deal(matrices);
  expectSound(matrices, 1, deal);
  EXPECT_EQ(deal.slotShapes.size(), 3u);
}

} // namespace

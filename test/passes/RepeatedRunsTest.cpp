// Repetition in sequences of letters. A letter's weight is 1; in the text of a
// result, repeats stand in brackets.
#include "passes/units/RepeatedRuns.h"

#include <gtest/gtest.h>

#include <string>

using namespace shardc;

namespace {

/// `narrow`: letters before which little passes a border; elsewhere two values
/// do.
std::string runsOf(const std::string &text, const std::string &narrow) {
  llvm::SmallVector<size_t> kinds(text.begin(), text.end());
  llvm::SmallVector<int64_t> weights(text.size(), 1);
  std::string result = text;
  auto runs = findRepeatedRuns(kinds, weights, [&](size_t, size_t border) {
    return narrow.find(text[border]) == std::string::npos ? 2 : 1;
  });
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    for (size_t repeat = run->count; repeat-- > 0;) {
      result.insert(run->start + (repeat + 1) * run->period, "]");
      result.insert(run->start + repeat * run->period, "[");
    }
  return result;
}

TEST(RepeatedRuns, areThePiecesThatWeighMost) {
  EXPECT_EQ(runsOf("eabcabcabch", "a"), "e[abc][abc][abc]h");
  // Where repeats weigh the same, the shortest are taken.
  EXPECT_EQ(runsOf("abababab", "a"), "[ab][ab][ab][ab]");
}

TEST(RepeatedRuns, beginWhereLeastPasses) {
  // A norm before the first block and after the last: both ways there are
  // three repeats.
  EXPECT_EQ(runsOf("enqmnqmnqmnh", "n"), "e[nqm][nqm][nqm]nh");
  EXPECT_EQ(runsOf("enqmnqmnqmnh", "q"), "en[qmn][qmn][qmn]h");
  // Where it makes no difference the last place is taken.
  EXPECT_EQ(runsOf("enqmnqmnqmnh", "nq"), "en[qmn][qmn][qmn]h");
}

TEST(RepeatedRuns, areNotCutThroughSeveralValues) {
  // Queries, keys, values and output of one attention.
  EXPECT_EQ(runsOf("nqqqqh", ""), "nqqqqh");
  EXPECT_EQ(runsOf("abab", ""), "abab");
}

TEST(RepeatedRuns, mayBeSeveral) {
  EXPECT_EQ(runsOf("eababababxcdecdecdeh", "abcde"),
            "e[ab][ab][ab][ab]x[cde][cde][cde]h");
}

TEST(RepeatedRuns, haveAtLeastTwoPiecesOfTwo) {
  EXPECT_EQ(runsOf("", "a"), "");
  EXPECT_EQ(runsOf("aaa", "a"), "aaa");
  EXPECT_EQ(runsOf("abc", "a"), "abc");
  EXPECT_EQ(runsOf("aaaa", "a"), "[aa][aa]");
}

TEST(RepeatedRuns, doNotBorderInsideAnOp) {
  std::string text = "wbwbwb";
  llvm::SmallVector<size_t> kinds(text.begin(), text.end());
  llvm::SmallVector<int64_t> weights(text.size(), 1);
  auto runs = findRepeatedRuns(kinds, weights, [](size_t, size_t border) {
    return border % 2 ? noBorder : 1;
  });
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].start, 0u);
  EXPECT_EQ(runs[0].period, 2u);
  EXPECT_EQ(runs[0].count, 3u);
}

// No border serves, so that every repetition is tried: what that costs grows as
// the sequence does, not as its square.
TEST(RepeatedRuns, costWhatTheirLengthIsWorth) {
  auto weighed = [](size_t count) {
    llvm::SmallVector<size_t> kinds(count, 1);
    llvm::SmallVector<int64_t> weights(count, 1);
    int64_t items = 0;
    auto runs = findRepeatedRuns(kinds, weights, [&](size_t start, size_t end) {
      items += end - start;
      return 2;
    });
    EXPECT_TRUE(runs.empty());
    return items;
  };
  for (size_t count : {500, 1'000, 20'000}) {
    int64_t once = weighed(count), twice = weighed(2 * count);
    EXPECT_LE(twice, 2.2 * once) << count;
  }
}

} // namespace

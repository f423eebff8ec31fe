// Small programs whose times are worked out by hand.
#include "codegen/timeline/Timeline.h"

#include <gtest/gtest.h>

using namespace shardc::timeline;

namespace {

Step compute(double seconds) { return {Step::Compute, seconds, 0}; }
Step start(size_t collective) { return {Step::Start, 0, collective}; }
Step wait(size_t collective) { return {Step::Wait, 0, collective}; }

void expectSpan(Span span, double begin, double end) {
  EXPECT_NEAR(span.begin, begin, 1e-12);
  EXPECT_NEAR(span.end, end, 1e-12);
}

TEST(Timeline, waitsForWhatComputeDoesNotHide) {
  // The gather takes 1 + 2 + 4 seconds beside 5 of arithmetic.
  Timeline timeline =
      simulate({start(0), compute(5), wait(0), compute(1)}, {{0, 1, 2, 4}});
  expectSpan(timeline.collectives[0], 0, 7);
  expectSpan(timeline.steps[2], 5, 7);
  expectSpan(timeline.steps[3], 7, 8);
  EXPECT_DOUBLE_EQ(timeline.seconds, 8);
  EXPECT_DOUBLE_EQ(timeline.exposed, 2);
}

TEST(Timeline, hidesWhatEndsBefore) {
  Timeline timeline = simulate({start(0), compute(9), wait(0)}, {{0, 1, 2, 4}});
  EXPECT_DOUBLE_EQ(timeline.seconds, 9);
  EXPECT_DOUBLE_EQ(timeline.exposed, 0);
}

TEST(Timeline, runsCollectivesOfAStreamOneAfterTheOther) {
  Timeline timeline =
      simulate({start(0), start(1), wait(0), compute(1), wait(1), compute(1)},
               {{0, 1, 0, 2}, {0, 1, 0, 2}});
  expectSpan(timeline.collectives[0], 0, 3);
  expectSpan(timeline.collectives[1], 3, 6);
  EXPECT_DOUBLE_EQ(timeline.exposed, 3 + 2);
  EXPECT_DOUBLE_EQ(timeline.seconds, 7);
}

TEST(Timeline, dividesALinkAmongStreams) {
  // Alone: 0 ends at 4, 1 at 2. Both have half of the link until 1 has moved
  // its 2 seconds, at 4; what is left of 0, 2 seconds, then goes at full rate.
  Timeline timeline = simulate({start(0), start(1), wait(1), wait(0)},
                               {{0, 0, 0, 4}, {1, 0, 0, 2}});
  expectSpan(timeline.collectives[1], 0, 4);
  expectSpan(timeline.collectives[0], 0, 6);
}

TEST(Timeline, sharesNothingBetweenLinksOfTwoKindsOrInLatency) {
  // 0 is inside a node while 1 is between nodes, and 2 waits for messages.
  Timeline timeline =
      simulate({start(0), start(1), start(2), wait(0), wait(1), wait(2)},
               {{0, 0, 0, 4}, {1, 0, 3, 0}, {2, 5, 0, 0}});
  expectSpan(timeline.collectives[0], 0, 4);
  expectSpan(timeline.collectives[1], 0, 3);
  expectSpan(timeline.collectives[2], 0, 5);
}

TEST(Timeline, joinsALinkThatIsBusy) {
  // 0 has moved 2 of its 4 seconds when 1 joins it at 2; they share until 0
  // has moved the other 2, at 6. 1 has 1 of its 3 seconds left then.
  Timeline timeline =
      simulate({start(0), compute(2), start(1), compute(10), wait(0), wait(1)},
               {{0, 0, 0, 4}, {1, 0, 0, 3}});
  expectSpan(timeline.collectives[0], 0, 6);
  expectSpan(timeline.collectives[1], 2, 7);
  EXPECT_DOUBLE_EQ(timeline.exposed, 0);
  EXPECT_DOUBLE_EQ(timeline.seconds, 12);
}

TEST(Timeline, prefetchesAUnitAhead) {
  // Four units of 3 seconds of arithmetic whose gathers take 2, each begun
  // when the unit before begins: all but the first are hidden.
  std::vector<Step> steps{start(0)};
  for (size_t unit = 0; unit < 4; ++unit) {
    if (unit + 1 < 4)
      steps.push_back(start(unit + 1));
    steps.push_back(wait(unit));
    steps.push_back(compute(3));
  }
  Timeline timeline =
      simulate(steps, {{0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}});
  EXPECT_DOUBLE_EQ(timeline.exposed, 2);
  EXPECT_DOUBLE_EQ(timeline.seconds, 14);
}

TEST(Timeline, computeIsSlowerBesideCollectives) {
  // A collective of 4 seconds; of 5 seconds' work 2 are done beside it at half
  // the rate.
  Timeline timeline = simulate({compute(1), start(0), compute(5), wait(0)},
                               {{0, 1, 0, 3}}, 0.5);
  EXPECT_DOUBLE_EQ(timeline.steps[2].begin, 1);
  EXPECT_DOUBLE_EQ(timeline.steps[2].end, 8);
  EXPECT_DOUBLE_EQ(timeline.collectives[0].end, 5);
  EXPECT_DOUBLE_EQ(timeline.seconds, 8);
  EXPECT_DOUBLE_EQ(timeline.exposed, 0);
  // A copy that takes no processors slows nothing down.
  Collective copy{0, 1, 0, 3};
  copy.takesProcessors = false;
  timeline = simulate({compute(1), start(0), compute(5), wait(0)}, {copy}, 0.5);
  EXPECT_DOUBLE_EQ(timeline.seconds, 6);
  // Work that ends before the collective does.
  timeline = simulate({start(0), compute(1), wait(0), compute(1)},
                      {{0, 0, 0, 5}}, 0.5);
  EXPECT_DOUBLE_EQ(timeline.steps[1].end, 2);
  EXPECT_DOUBLE_EQ(timeline.exposed, 3);
  EXPECT_DOUBLE_EQ(timeline.seconds, 6);
}

TEST(Timeline, ofNothingIsEmpty) {
  Timeline timeline = simulate({}, {});
  EXPECT_EQ(timeline.seconds, 0);
  // A collective of one rank takes no time.
  timeline = simulate({start(0), wait(0)}, {{0, 0, 0, 0}});
  EXPECT_EQ(timeline.seconds, 0);
}

} // namespace

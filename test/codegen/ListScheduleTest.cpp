// Schedules of small problems beside what is worked out by hand, and of random
// ones beside every schedule of one depth.
#include "codegen/schedule/ListSchedule.h"

#include <gtest/gtest.h>

#include <random>

using namespace shardc;
using namespace shardc::schedule;
using timeline::Step;

namespace {

/// Units that are used one after the other, forward and then backward in the
/// other direction, each pass `seconds` long; the gather of each takes
/// `gathers` seconds and a unit of memory.
Problem chain(size_t units, double seconds, double gathers) {
  Problem problem;
  std::vector<size_t> forward(units);
  for (size_t pass = 0; pass < 2; ++pass)
    for (size_t index = 0; index < units; ++index) {
      size_t unit = pass == 0 ? index : units - 1 - index;
      Gather gather;
      gather.collective = problem.collectives.size();
      problem.collectives.push_back({0, 0, 0, gathers});
      gather.wait = problem.steps.size();
      gather.last = gather.wait + 1;
      gather.bytes = 1;
      if (pass == 0) {
        forward[unit] = problem.gathers.size();
      } else {
        gather.before = forward[unit];
        gather.earliest = problem.gathers[forward[unit]].last + 1;
      }
      problem.steps.push_back({Step::Wait, 0, gather.collective});
      problem.steps.push_back({Step::Compute, seconds, 0});
      problem.gathers.push_back(gather);
    }
  return problem;
}

size_t count(const Schedule &schedule) {
  size_t count = 0;
  for (bool held : schedule.held)
    count += held;
  return count;
}

TEST(ListSchedule, gathersNoEarlierThanItHelps) {
  Problem problem = chain(4, 3, 2);
  Schedule made = schedule::schedule(problem);
  // The first gather is all that is seen.
  EXPECT_DOUBLE_EQ(made.seconds, 2 + 8 * 3);
  EXPECT_EQ(made.gatherBytes, 2);
}

TEST(ListSchedule, keepsToALimit) {
  Problem problem = chain(4, 3, 2);
  problem.limit = 1;
  Schedule made = schedule::schedule(problem);
  // One unit at a time: no gather is hidden, but for the last one's, which
  // stays: it is used again before anything else is gathered.
  EXPECT_EQ(made.gatherBytes, 1);
  EXPECT_DOUBLE_EQ(made.seconds, 8 * 3 + 7 * 2);
  EXPECT_EQ(count(made), 1u);
}

TEST(ListSchedule, takesTheLeastWhereNothingFits) {
  Problem problem = chain(3, 3, 2);
  problem.limit = 0;
  EXPECT_EQ(schedule::schedule(problem).gatherBytes, 1);
}

TEST(ListSchedule, holdsUnitsWhereLinksAreSlow) {
  // Gathers take longer than what hides them: with memory for it, backward
  // gathers the last two units alone, which the others hide.
  Problem problem = chain(6, 1, 2);
  Schedule made = schedule::schedule(problem);
  EXPECT_EQ(count(made), 4u);
  EXPECT_DOUBLE_EQ(made.seconds, 6 * 2 + 1 + 6);
  problem.limit = 3;
  Schedule limited = schedule::schedule(problem);
  EXPECT_LE(limited.gatherBytes, 3);
  EXPECT_GT(limited.seconds, made.seconds);
  EXPECT_LT(limited.seconds, ahead(problem, 1).seconds);
}

TEST(ListSchedule, countsWhatStaysFromTheFirstStepToTheLast) {
  // Other micro-batches have it before this one gathers it.
  Problem problem = chain(1, 3, 2);
  problem.gathers.pop_back(); // of backward
  problem.steps.erase(problem.steps.end() - 2);
  problem.steps.insert(problem.steps.begin(), {Step::Compute, 1, 0});
  problem.gathers[0].wait = 1;
  problem.gathers[0].last = problem.steps.size();
  problem.gathers[0].stays = true;
  problem.buffers = {};
  Schedule made = schedule::schedule(problem);
  // It begins at once all the same, and hides a second.
  EXPECT_DOUBLE_EQ(made.seconds, 2 + 3 + 3);
  EXPECT_EQ(made.gatherBytes, 1);
  Gather early = problem.gathers[0];
  early.wait = early.last = 0, early.stays = false;
  early.collective = problem.collectives.size();
  problem.collectives.push_back({0, 0, 0, 1});
  problem.steps.insert(problem.steps.begin(),
                       {Step::Wait, 0, early.collective});
  problem.gathers[0].wait = 2, problem.gathers[0].last = problem.steps.size();
  problem.gathers.insert(problem.gathers.begin(), early);
  EXPECT_EQ(schedule::ahead(problem, 0).gatherBytes, 2);
}

TEST(ListSchedule, waitsLaterForReductionsWhereMemoryAllows) {
  // Two units of 1 second whose reductions take 3.
  Problem problem;
  for (size_t unit = 0; unit < 3; ++unit) {
    problem.steps.push_back({Step::Compute, 1, 0});
    problem.steps.push_back({Step::Start, 0, unit});
    problem.collectives.push_back({0, 0, 0, 3});
    problem.buffers.push_back({int64_t(2 * unit), int64_t(2 * unit + 1), 10});
    Reduction reduction;
    reduction.collective = unit;
    reduction.earliest = 2 * unit + 2;
    reduction.latest = 6;
    reduction.buffers = {unit};
    problem.reductions.push_back(reduction);
  }
  Schedule made = schedule::schedule(problem);
  EXPECT_DOUBLE_EQ(made.seconds, 1 + 3 * 3);
  problem.limit = 10;
  EXPECT_DOUBLE_EQ(schedule::schedule(problem).seconds, 3 * (1 + 3));
}

TEST(ListSchedule, startsWhatGoesOnBehindTheWait) {
  // A reduction inside of a node, and the one between nodes that goes on with
  // it, while 9 seconds of arithmetic follow in three parts.
  Problem problem;
  problem.collectives = {{0, 0, 0, 4}, {1, 0, 2, 0}};
  problem.steps = {{Step::Start, 0, 0},
                   {Step::Compute, 3, 0},
                   {Step::Compute, 3, 0},
                   {Step::Compute, 3, 0}};
  Reduction first, second;
  first.collective = 0, first.next = 1;
  first.earliest = 2, first.latest = 4;
  second.collective = 1, second.before = 0;
  second.earliest = 2, second.latest = 4;
  problem.reductions = {first, second};
  Schedule made = schedule::schedule(problem);
  std::vector<Step> steps = arrange(problem, made);
  ASSERT_EQ(steps.size(), 7u);
  auto wait = llvm::find_if(steps, [](const Step &step) {
    return step.kind == Step::Wait && step.collective == 0;
  });
  EXPECT_EQ(std::next(wait)->kind, Step::Start);
  EXPECT_EQ(std::next(wait)->collective, 1u);
  EXPECT_EQ(steps.back().kind, Step::Wait);
  EXPECT_EQ(steps.back().collective, 1u);
  // Waited for at once, at 3, the first is seen for 1 second.
  EXPECT_LE(made.seconds, 10);
}

TEST(ListSchedule, arrangesStartsBeforeWaits) {
  Problem problem = chain(2, 1, 1);
  Schedule one = ahead(problem, 1);
  std::vector<Step> steps = arrange(problem, one);
  ASSERT_EQ(steps.size(), 12u);
  EXPECT_EQ(steps[0].kind, Step::Start);
  EXPECT_EQ(steps[1].kind, Step::Start);
  EXPECT_EQ(steps[2].kind, Step::Wait);
}

TEST(ListSchedule, isNeverSlowerThanAnyDepth) {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> times(0.1, 3);
  for (int trial = 0; trial < 200; ++trial) {
    Problem problem = chain(2 + trial % 9, 1, 1);
    for (Step &step : problem.steps)
      if (step.kind == Step::Compute)
        step.seconds = times(random);
    for (timeline::Collective &collective : problem.collectives)
      collective.inside = times(random), collective.latency = times(random) / 9;
    for (Gather &gather : problem.gathers)
      gather.bytes = 1 + int64_t(random() % 5);
    for (Gather &gather : problem.gathers)
      if (gather.before)
        gather.bytes = problem.gathers[*gather.before].bytes;
    Schedule made = schedule::schedule(problem);
    for (size_t depth : {0, 1, 2, 5, 64}) {
      Schedule fixed = ahead(problem, depth);
      EXPECT_LE(made.seconds, fixed.seconds * 1.0005) << trial << " " << depth;
      problem.limit = fixed.bytes();
      Schedule limited = schedule::schedule(problem);
      EXPECT_LE(limited.bytes(), problem.limit);
      problem.limit = std::numeric_limits<int64_t>::max();
    }
  }
}

} // namespace

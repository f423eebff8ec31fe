// When a run stands still, and whom that is said of.
#include "runtime/train/Watchdog.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/launch/ThreadWorld.h"

#include "gtest/gtest.h"

#include <atomic>
#include <tuple>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using Why = StillRanks::Found::Why;

/// Two processes of two ranks, seen by process 0 with limits of 10 s in a step
/// and 100 s outside.
class Still : public testing::Test {
protected:
  Still() {
    notes.resize(2);
    for (ProcessNotes &process : notes)
      process.ranks.resize(2);
    for (int rank = 0; rank < 4; ++rank)
      at(rank, RankPhase::Step, 3, 5, true);
    look(0s);
  }
  void at(int rank, RankPhase phase, int64_t step, int entry, bool waits) {
    RankNote note;
    note.enter(phase, step);
    note.entry(entry);
    note.waits(waits);
    notes[rank / 2].ranks[rank % 2] = note.value();
  }
  /// After `seconds`, in which all processes have told what they are at, but
  /// for `silent`.
  std::optional<StillRanks::Found> look(std::chrono::seconds later,
                                        int silent = -1) {
    now += later;
    for (int process = 0; process < 2; ++process)
      if (process != silent)
        notes[process].told = now;
    return ranks.look(notes, now);
  }

  int stopped = -1; // by a signal
  StillRanks ranks{
      0, {10s, 100s}, [this](int process) { return process == stopped; }};
  std::vector<ProcessNotes> notes;
  StillRanks::Time now = StillRanks::Time() + 1000s;
};

TEST_F(Still, ARankThatDoesNotWaitIsTheCause) {
  at(2, RankPhase::Step, 3, 4, false);
  EXPECT_FALSE(look(1s));
  EXPECT_FALSE(look(9s));
  std::optional<StillRanks::Found> found = look(1s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, Why::Stuck);
  EXPECT_EQ(found->process, 1);
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->at.step(), 3);
  EXPECT_EQ(found->at.entry(), 4);
  EXPECT_EQ(found->still, 10s);
}

TEST_F(Still, WhoGoesOnIsWaitedFor) {
  for (int entry = 0; entry < 50; ++entry) {
    at(2, RankPhase::Step, 3, entry, false);
    EXPECT_FALSE(look(9s));
  }
}

TEST_F(Still, MessagesGoOn) {
  for (int i = 0; i < 50; ++i) {
    ++notes[1].moves;
    EXPECT_FALSE(look(9s));
  }
  EXPECT_TRUE(look(10s));
}

TEST_F(Still, OutsideOfStepsTheOtherLimitHolds) {
  at(3, RankPhase::Saving, 3, 0, false);
  EXPECT_FALSE(look(1s));
  EXPECT_FALSE(look(99s));
  std::optional<StillRanks::Found> found = look(1s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->process * 2 + found->rank, 3);
}

TEST_F(Still, ASilentProcessIsTheCause) {
  at(2, RankPhase::Step, 3, 5, true);
  at(3, RankPhase::Step, 2, 7, false);
  // A rank that is late, too, for another reason.
  at(1, RankPhase::Step, 3, 4, false);
  look(0s);
  EXPECT_FALSE(look(9s, 1));
  std::optional<StillRanks::Found> found = look(1s, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, Why::Silent);
  EXPECT_EQ(found->process * 2 + found->rank, 3);
  EXPECT_EQ(found->at.step(), 2);
}

TEST_F(Still, AStoppedProcessIsTheCauseAfterFourSeconds) {
  at(3, RankPhase::Saving, 2, 7, false);
  look(0s, 1);
  stopped = 1;
  EXPECT_FALSE(look(3s, 1));
  std::optional<StillRanks::Found> found = look(1s, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, Why::Stopped);
  EXPECT_EQ(found->process * 2 + found->rank, 3);
  EXPECT_EQ(found->at.step(), 2);
  EXPECT_EQ(found->waitingRank, 0);
  EXPECT_EQ(found->still, 4s);
}

TEST_F(Still, WhoWasStoppedAndGoesOnIsWaitedFor) {
  for (int i = 0; i < 10; ++i) {
    stopped = 1;
    EXPECT_FALSE(look(3s, 1));
    stopped = -1;
    at(2, RankPhase::Step, 3, 6 + i, false);
    EXPECT_FALSE(look(0s));
  }
}

TEST_F(Still, AStoppedProcessThatNobodyWaitsForIsLeftAlone) {
  stopped = 1;
  for (int rank : {0, 1})
    at(rank, RankPhase::Step, 3, 5, false);
  for (int i = 0; i < 50; ++i)
    EXPECT_FALSE(look(3s, 1));
}

TEST_F(Still, WhereAllWaitWhoIsFurthestBackIsNamed) {
  at(2, RankPhase::Step, 3, 4, true);
  look(0s);
  std::optional<StillRanks::Found> found = look(10s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, Why::Behind);
  EXPECT_EQ(found->process * 2 + found->rank, 2);
}

TEST_F(Still, WhereNobodyHereWaitsNothingIsSaid) {
  at(0, RankPhase::Step, 3, 5, false);
  at(1, RankPhase::Step, 3, 5, false);
  for (int i = 0; i < 50; ++i)
    EXPECT_FALSE(look(9s));
}

TEST_F(Still, WhoWasStoppedBeginsAnew) {
  now += 1000s;
  ranks.forget();
  EXPECT_FALSE(look(0s));
  EXPECT_FALSE(look(9s));
  EXPECT_TRUE(look(1s));
}

TEST(PlaceText, NamesEntryAndNodes) {
  plan::Plan plan;
  plan::Entry &entry = *plan.mutable_train()->add_entries();
  entry.set_name("layers.0/attention");
  entry.set_phase("forward");
  entry.add_nodes("/MatMul");
  entry.add_nodes("/Softmax");
  RankNote note;
  note.enter(RankPhase::Step, 7);
  note.entry(0);
  EXPECT_EQ(placeText(plan, note.value()),
            "step 7 (counting from 0), plan entry layers.0/attention (train, "
            "forward), ONNX nodes /MatMul, /Softmax");
  note.enter(RankPhase::Step, 8);
  EXPECT_EQ(placeText(plan, note.value()),
            "step 8 (counting from 0), before plan entry layers.0/attention "
            "(train, forward), ONNX nodes /MatMul, /Softmax");
  note.enter(RankPhase::Samples, 8);
  EXPECT_EQ(placeText(plan, note.value()),
            "step 8 (counting from 0), waiting for its samples to be read");
}

/// A plan of a gather, a product and a reduction, of which the product alone
/// comes from a node.
plan::Plan gatheredPlan() {
  plan::Plan plan;
  for (auto [name, phase, node] :
       {std::tuple("model/all_gather_start", "forward", ""),
        {"model/gemm", "forward", "/fc/Gemm"},
        {"model/reduce_scatter_start", "backward", ""}}) {
    plan::Entry &entry = *plan.mutable_train()->add_entries();
    entry.set_name(name);
    entry.set_phase(phase);
    if (*node)
      entry.add_nodes(node);
  }
  return plan;
}

TEST(PlaceText, NamesTheNearestNode) {
  plan::Plan plan = gatheredPlan();
  RankNote note;
  note.enter(RankPhase::Step, 7);
  note.entry(0);
  EXPECT_EQ(placeText(plan, note.value()),
            "step 7 (counting from 0), plan entry model/all_gather_start "
            "(train, forward), before ONNX node /fc/Gemm");
  note.entry(2);
  EXPECT_EQ(placeText(plan, note.value()),
            "step 7 (counting from 0), plan entry model/reduce_scatter_start "
            "(train, backward), behind ONNX node /fc/Gemm");
  plan.mutable_train()->mutable_entries(1)->clear_nodes();
  EXPECT_EQ(placeText(plan, note.value()),
            "step 7 (counting from 0), plan entry model/reduce_scatter_start "
            "(train, backward)");
}

/// Rank 1 of three does not come to a barrier; `ends`: but it ends when it is
/// told to.
void runStuck(bool ends, const std::function<void(const std::string &)> &then) {
  plan::Plan plan;
  ThreadWorld world(3);
  std::atomic<bool> told = false;
  std::string text;
  auto atOnce = [&](const std::string &error, int code) {
    EXPECT_EQ(code, LostProcess);
    text = error;
    told = true;
  };
  Watchdog watchdog(world, plan, {200ms, 10s}, atOnce);
  try {
    world.run([&](Communicator &communicator) {
      communicator.note().enter(RankPhase::Samples, 4);
      if (communicator.rank() != 1)
        communicator.barrier();
      for (; communicator.rank() == 1 && !told && !ends;)
        std::this_thread::sleep_for(1ms);
    });
  } catch (const Aborted &aborted) {
    text = ends ? aborted.what() : text;
  }
  then(text);
}

TEST(Watchdog, EndsAProcessWhoseRankIsStuck) {
  std::string text;
  runStuck(false, [&](const std::string &found) { text = found; });
  EXPECT_NE(text.find("rank 1 does not go on since 0."), std::string::npos)
      << text;
  EXPECT_NE(text.find("s: step 4 (counting from 0), waiting for its "
                      "samples to be read; rank 0 waits for it"),
            std::string::npos)
      << text;
}

TEST(Watchdog, ReleasesThoseThatWait) {
  std::string text;
  runStuck(true, [&](const std::string &found) { text = found; });
  EXPECT_NE(text.find("rank 1 does not go on since 0."), std::string::npos)
      << text;
}

TEST(Watchdog, EndsAProcessWhoseRankDoesNotEndAfterAFailure) {
  plan::Plan plan;
  ThreadWorld world(2);
  std::atomic<bool> told = false;
  std::string text;
  StillLimits limits{10s, 10s};
  limits.ending = 200ms;
  // The code is that of its own failure.
  auto atOnce = [&](const std::string &error, int code) {
    EXPECT_EQ(code, BadInput);
    text = error;
    told = true;
  };
  Watchdog watchdog(world, plan, limits, atOnce);
  // As one that does not come back from a library.
  EXPECT_THROW(world.run([&](Communicator &communicator) {
    if (communicator.rank() == 0)
      fail("no memory");
    while (!told)
      std::this_thread::sleep_for(1ms);
  }),
               Error);
  EXPECT_EQ(text, "rank 0 gave up: no memory");
}

} // namespace
} // namespace shardc::runtime

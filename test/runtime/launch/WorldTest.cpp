// Worlds of which a part is here: who connects, who leads, what a body's error
// becomes in the others.
#include "runtime/base/ThreadPool.h"
#include "runtime/launch/ThreadWorld.h"
#include "test/runtime/launch/PartialWorld.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace shardc::runtime;

namespace {

/// Two worlds of one process: ranks [0, split) and the others.
struct Halves {
  Halves(int ranks, int split)
      : process(std::make_shared<ThreadProcess>(ranks, false)),
        first(process, {0, split}), second(process, {split, ranks}) {}

  /// What each throws, or nothing.
  std::vector<std::string>
  run(const std::function<void(Communicator &)> &body) {
    std::vector<std::string> errors(2);
    auto half = [&](World &world, std::string &error) {
      try {
        world.run(body);
      } catch (const Aborted &aborted) {
        error = std::string("aborted: ") + aborted.what();
      } catch (const Error &own) {
        error = own.what();
      }
    };
    std::thread other([&] { half(second, errors[1]); });
    half(first, errors[0]);
    other.join();
    return errors;
  }

  std::shared_ptr<ThreadProcess> process;
  PartialWorld first, second;
};

} // namespace

TEST(World, HasItsPartOfTheRanks) {
  Halves halves(5, 2);
  EXPECT_EQ(halves.first.ranks(), 5);
  EXPECT_EQ(halves.second.ranks(), 5);
  EXPECT_EQ(halves.second.localRanks().begin, 2);
  EXPECT_EQ(halves.second.localRanks().size(), 3);
  EXPECT_TRUE(halves.first.leads());
  EXPECT_FALSE(halves.second.leads());
  // Cores are for those that are here.
  EXPECT_EQ(halves.second.workersPerRank(), std::max(1, usableCores() / 3));
  EXPECT_TRUE(ThreadWorld(usableCores()).haveCoresFor(1));
  EXPECT_FALSE(ThreadWorld(usableCores()).haveCoresFor(2));
  EXPECT_TRUE(PartialWorld(halves.process, {1, 2}).haveCoresFor(usableCores()));
}

TEST(World, RunsTheBodyAsItsRanks) {
  for (int split = 1; split < 5; ++split) {
    Halves halves(5, split);
    std::vector<std::atomic<int>> runs(5);
    std::vector<std::string> errors = halves.run([&](Communicator &world) {
      ASSERT_EQ(world.size(), 5);
      ++runs[world.rank()];
      int64_t sum = 1 << world.rank();
      const Segment segment{&sum, 1, shardc::plan::INT64};
      world.allReduce({&segment, 1});
      EXPECT_EQ(sum, 31);
    });
    EXPECT_EQ(errors, std::vector<std::string>(2));
    for (const std::atomic<int> &count : runs)
      EXPECT_EQ(count, 1);
  }
}

TEST(World, AnErrorEndsTheRanksElsewhereToo) {
  Halves halves(4, 2);
  std::vector<std::string> errors = halves.run([&](Communicator &world) {
    if (world.rank() == 3)
      fail("disk is full");
    world.barrier();
  });
  EXPECT_EQ(errors[0], "aborted: rank 3 gave up: disk is full");
  EXPECT_EQ(errors[1], "disk is full");
}

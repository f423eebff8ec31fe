// Conformance of communicators: many collectives and groups at once, barriers,
// and ranks that give up.
#include "test/runtime/comm/CommSuite.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>

using namespace shardc;
using namespace shardc::runtime;

namespace {

using WorldSetting = std::tuple<Implementation, int, int>;

/// Implementation, ranks, workers of a rank.
std::vector<WorldSetting>
worldSettings(const std::vector<int> &ranks = {1, 2, 3, 6, 16},
              bool inOneProcess = false) {
  std::vector<WorldSetting> settings;
  for (const Implementation &each : implementations())
    for (int count : ranks)
      for (int workers : {1, 3})
        if (each.has(count) && (!inOneProcess || isOneProcess(each)))
          settings.emplace_back(each, count, workers);
  return settings;
}

class Comm : public testing::TestWithParam<WorldSetting> {
protected:
  int ranks() { return std::get<1>(GetParam()); }
  GroupShape world() { return {ranks(), 1, ranks()}; }
  void run(const std::function<void(Communicator &)> &body) {
    std::get<0>(GetParam()).run(ranks(), [&](Communicator &communicator) {
      HelpingThreads helpers(communicator, std::get<2>(GetParam()));
      body(communicator);
      // The others would wait for this rank for ever.
      if (HasFatalFailure())
        fail("a test failed");
    });
  }
};

std::string nameOf(const testing::TestParamInfo<WorldSetting> &info) {
  auto [implementation, ranks, workers] = info.param;
  return std::string(implementation.name) + "Ranks" + std::to_string(ranks) +
         "Workers" + std::to_string(workers);
}
INSTANTIATE_TEST_SUITE_P(All, Comm, testing::ValuesIn(worldSettings()), nameOf);

TEST_P(Comm, CollectivesOverlapAndFinishInAnyOrder) {
  run([&](Communicator &communicator) {
    constexpr int rounds = 40;
    int rank = communicator.rank();
    std::vector<std::vector<float>> flats(rounds), shards(rounds),
        gathered(rounds);
    std::vector<Communicator::Ticket> scatters, gathers;
    int64_t count = 100;
    for (int round = 0; round < rounds; ++round) {
      for (int64_t i = 0; i < count * ranks(); ++i)
        flats[round].push_back(valueOf<float>(rank, i, round));
      shards[round].resize(count);
      gathered[round].resize(count * ranks());
      scatters.push_back(communicator.startReduceScatter(
          flats[round].data(), shards[round].data(), count, plan::FLOAT32));
      // Two are on their way at any time.
      if (round > 0) {
        communicator.finish(scatters[round - 1]);
        gathers.push_back(communicator.startAllGather(
            shards[round - 1].data(), gathered[round - 1].data(),
            count * sizeof(float)));
        communicator.wait(gathers.back());
      }
    }
    communicator.finish(scatters.back());
    // The oldest gathers are finished last.
    for (size_t i = gathers.size(); i-- > 0;)
      communicator.finish(gathers[i]);
    for (int round = 0; round + 1 < rounds; ++round)
      for (int64_t i = 0; i < count * ranks(); ++i)
        ASSERT_TRUE(
            isSum(communicator, gathered[round][i], world(), rank, i, round))
            << i << " of round " << round;
  });
}

/// Rows and columns of the mesh of `ranks` ranks that is nearest to a square,
/// and the world.
std::vector<GroupShape> meshGroups(int ranks) {
  int rows = 1;
  for (int r = 1; r * r <= ranks; ++r)
    if (ranks % r == 0)
      rows = r;
  int columns = ranks / rows;
  return {{ranks, 1, columns}, {ranks, columns, rows}, {ranks, 1, ranks}};
}

TEST_P(Comm, ManyGroupsAreOnTheirWayAtOnce) {
  run([&](Communicator &communicator) {
    constexpr int rounds = 12;
    constexpr int64_t count = 300;
    int rank = communicator.rank();
    std::vector<GroupShape> shapes = meshGroups(ranks());
    struct Started {
      Communicator *group;
      Communicator::Ticket ticket;
      GroupShape shape;
      int seed;
      std::vector<double> values;
    };
    std::vector<Started> all;
    all.reserve(rounds * shapes.size());
    for (int round = 0; round < rounds; ++round)
      for (const GroupShape &shape : shapes) {
        Communicator &group = communicator.group(shape.stride, shape.size);
        Started &started = all.emplace_back(&group, 0, shape, int(all.size()));
        for (int64_t i = 0; i < count; ++i)
          started.values.push_back(valueOf<double>(rank, i, started.seed));
        const Segment segment{started.values.data(), count, plan::FLOAT64};
        started.ticket = group.startAllReduce({&segment, 1});
      }
    // Every rank waits in an order of its own.
    size_t size = all.size();
    for (size_t i = 0; i < size; ++i) {
      Started &started = all[(rank % 2 ? size - 1 - i : i)];
      started.group->finish(started.ticket);
      for (int64_t k = 0; k < count; ++k)
        ASSERT_TRUE(isSum(*started.group, started.values[k], started.shape,
                          rank, k, started.seed))
            << k;
    }
  });
}

TEST_P(Comm, GroupsOfGroupsAreTheWorldsOwn) {
  int stride = ranks() % 2 == 0 ? 2 : 1, half = ranks() / stride;
  run([&](Communicator &communicator) {
    Communicator &outer = communicator.group(stride, half);
    EXPECT_EQ(&outer, &communicator.group(stride, half));
    EXPECT_EQ(outer.rank(), communicator.rank() / stride);
    EXPECT_EQ(outer.group(1, 1).size(), 1);
    // Every second of those that are left, where their number is even.
    int again = half % 2 == 0 ? 2 : 1;
    Communicator &inner = outer.group(again, half / again);
    GroupShape shape{ranks(), stride * again, half / again};
    int64_t sum = communicator.rank(), expected = 0;
    for (int place = 0; place < shape.size; ++place)
      expected += shape.member(communicator.rank(), place);
    const Segment segment{&sum, 1, plan::INT64};
    inner.allReduce({&segment, 1});
    EXPECT_EQ(sum, expected);
  });
}

TEST_P(Comm, GroupsThatDoNotDivideAreRefused) {
  run([&](Communicator &communicator) {
    EXPECT_THROW(communicator.group(1, ranks() + 1), Error);
    EXPECT_THROW(communicator.group(ranks() + 1, 1), Error);
    EXPECT_THROW(communicator.group(0, 1), Error);
    EXPECT_THROW(communicator.group(1, 0), Error);
    if (ranks() == 6)
      EXPECT_THROW(communicator.group(2, 2), Error);
  });
}

TEST_P(Comm, OnlyNumbersAreAdded) {
  run([&](Communicator &communicator) {
    std::vector<uint8_t> bytes(ranks());
    EXPECT_THROW(communicator.startReduceScatter(bytes.data(), bytes.data(), 1,
                                                 plan::UINT8),
                 Error);
    const Segment segment{bytes.data(), 1, plan::BOOL};
    EXPECT_THROW(communicator.startAllReduce({&segment, 1}), Error);
  });
}

/// Where the test's memory is all ranks', and others can be made after a world
/// that fails.
class CommInOneProcess : public Comm {};
// Where several processes run the tests, there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CommInOneProcess);
INSTANTIATE_TEST_SUITE_P(All, CommInOneProcess,
                         testing::ValuesIn(worldSettings({1, 2, 3, 6, 16},
                                                         true)),
                         nameOf);

TEST_P(CommInOneProcess, BarriersHoldUntilAllHaveCome) {
  for (const GroupShape &shape : meshGroups(ranks())) {
    std::vector<std::atomic<int>> arrived(ranks());
    run([&](Communicator &communicator) {
      Communicator &group = communicator.group(shape.stride, shape.size);
      int rank = communicator.rank(), first = shape.member(rank, 0);
      for (int round = 1; round <= 20; ++round) {
        ++arrived[first];
        group.barrier();
        EXPECT_GE(arrived[first].load(), round * shape.size);
        group.barrier();
      }
    });
  }
}

TEST_P(CommInOneProcess, AFailingRankReleasesTheOthersInWhateverGroup) {
  std::atomic<int> released{0};
  std::vector<GroupShape> shapes = meshGroups(ranks());
  try {
    run([&](Communicator &communicator) {
      std::vector<float> values(50000, 1), shard(50000);
      int rank = communicator.rank();
      if (rank == ranks() - 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        fail("disk is full");
      }
      try {
        size_t kind = rank % shapes.size();
        const GroupShape &shape = shapes[kind];
        Communicator &group = communicator.group(shape.stride, shape.size);
        const Segment segment{values.data(), 50000, plan::FLOAT32};
        // Groups without the failing rank get through; the world does not.
        if (kind % 2)
          group.barrier();
        else if (shape.size < ranks())
          group.finish(group.startAllReduce({&segment, 1}));
        communicator.barrier();
      } catch (const Aborted &error) {
        ++released;
        EXPECT_EQ(std::string(error.what()), "rank " +
                                                 std::to_string(ranks() - 1) +
                                                 " gave up: disk is full");
        throw;
      }
    });
    FAIL() << "expects the failure to come out";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "disk is full");
  }
  EXPECT_EQ(released.load(), ranks() - 1);
}

/// Asks until another rank has given up, for 20 s at most; returns its reason.
std::string askedReason(Communicator &communicator) {
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    try {
      communicator.throwIfAborted();
    } catch (const Aborted &error) {
      return error.what();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return "nobody has given up";
}

TEST_P(CommInOneProcess, WhoWaitsElsewhereCanAskWhetherARankGaveUp) {
  std::string gaveUp = concat("rank ", ranks() - 1, " gave up: no device");
  std::atomic<int> asked{0}, heard{0};
  EXPECT_THROW(run([&](Communicator &communicator) {
                 GroupShape shape = meshGroups(ranks())[0];
                 Communicator &group =
                     communicator.group(shape.stride, shape.size);
                 float value = 1;
                 const Segment segment{&value, 1, plan::FLOAT32};
                 auto ticket = group.startAllReduce({&segment, 1});
                 // What goes on is no reason, whether it is awaited or not.
                 EXPECT_NO_THROW(group.throwIfAborted());
                 EXPECT_NO_THROW(communicator.throwIfAborted());
                 group.finish(ticket);
                 EXPECT_NO_THROW(communicator.throwIfAborted());
                 ++asked;
                 if (communicator.rank() == ranks() - 1) {
                   while (asked < ranks())
                     std::this_thread::yield();
                   communicator.abort("no device");
                 }
                 // In whatever group, and of the rank itself.
                 EXPECT_EQ(askedReason(group), gaveUp);
                 EXPECT_EQ(askedReason(communicator), gaveUp);
                 ++heard;
                 communicator.throwIfAborted();
               }),
               Aborted);
  EXPECT_EQ(heard.load(), ranks());
}

/// The suite's cases of several ranks: one rank waits for nobody, and agrees
/// with itself.
class CommOfSeveral : public Comm {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CommOfSeveral);
INSTANTIATE_TEST_SUITE_P(All, CommOfSeveral,
                         testing::ValuesIn(worldSettings({2, 3, 6, 16}, true)),
                         nameOf);

TEST_P(CommOfSeveral, BuffersMayBeFreedAfterLeaving) {
  // The collective is in flight in a group; leaving is the world's.
  GroupShape shape = meshGroups(ranks())[0];
  EXPECT_THROW(run([&](Communicator &communicator) {
                 int64_t count = (1 << 20) / ranks();
                 struct Leaving {
                   ~Leaving() { communicator.leave(); }
                   Communicator &communicator;
                 };
                 std::vector<float> flat(count * shape.size), shard(count);
                 Leaving leaving{communicator};
                 Communicator &group =
                     communicator.group(shape.stride, shape.size);
                 auto ticket = group.startReduceScatter(
                     flat.data(), shard.data(), count, plan::FLOAT32);
                 if (communicator.rank() == 0)
                   fail("gave up after a start");
                 group.finish(ticket);
                 communicator.barrier();
               }),
               Error);
}

TEST_P(CommOfSeveral, DisagreementIsAnError) {
  for (bool counts : {true, false})
    try {
      run([&](Communicator &communicator) {
        std::vector<float> values(8);
        bool differs = communicator.rank() == 1;
        const Segment segment{values.data(), differs && counts ? 7 : 8,
                              plan::FLOAT32,
                              differs && !counts ? Combine::Max : Combine::Sum};
        communicator.allReduce({&segment, 1});
      });
      FAIL() << "expects an error";
    } catch (const Error &error) {
      std::string text = error.what();
      EXPECT_NE(text.find("disagree about a collective: all-"),
                std::string::npos)
          << text;
    }
}

} // namespace

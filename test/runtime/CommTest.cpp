// Conformance of communicators: every collective, over every implementation.
#include "runtime/RankThreads.h"
#include "runtime/ThreadPool.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Threads.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// Runs a body as every rank; an implementation is a way to do that.
struct Implementation {
  const char *name;
  void (*run)(int ranks, const std::function<void(Communicator &)> &body);
};
const Implementation implementations[] = {{"Threads", runRanksAsThreads}};

class Comm
    : public testing::TestWithParam<std::tuple<Implementation, int, int>> {
protected:
  int ranks() { return std::get<1>(GetParam()); }
  void run(const std::function<void(Communicator &, ThreadPool &)> &body) {
    std::get<0>(GetParam()).run(ranks(), [&](Communicator &communicator) {
      ThreadPool pool(std::get<2>(GetParam()), false);
      body(communicator, pool);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(All, Comm,
                         testing::Combine(testing::ValuesIn(implementations),
                                          testing::Values(1, 2, 3, 5, 16),
                                          testing::Values(1, 3)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  "Ranks" +
                                  std::to_string(std::get<1>(info.param)) +
                                  "Workers" +
                                  std::to_string(std::get<2>(info.param));
                         });

// Values whose sum depends on the order of the additions.
template <typename T> T valueOf(int rank, int64_t i) {
  return T(1 + (rank * 7919 + i * 104729) % 1000003) / T(7);
}
template <typename T> T sumInRankOrder(int ranks, int64_t i) {
  T sum = valueOf<T>(0, i);
  for (int rank = 1; rank < ranks; ++rank)
    sum += valueOf<T>(rank, i);
  return sum;
}
template <typename T> plan::DType dtypeOfElements() {
  return std::is_same_v<T, float>    ? plan::FLOAT32
         : std::is_same_v<T, double> ? plan::FLOAT64
                                     : plan::INT64;
}

TEST_P(Comm, AllGatherPutsShardsInRankOrder) {
  for (int64_t bytes : {0, 1, 777, 600001 / ranks()})
    run([&](Communicator &communicator, ThreadPool &pool) {
      std::vector<char> shard(bytes, char('a' + communicator.rank()));
      std::vector<char> gathered(bytes * ranks(), '?');
      communicator.finish(
          communicator.startAllGather(shard.data(), gathered.data(), bytes),
          pool);
      for (int64_t i = 0; i < bytes * ranks(); ++i)
        ASSERT_EQ(gathered[i], char('a' + i / bytes)) << i;
    });
}

TEST_P(Comm, AllGatherTakesTheShardInPlace) {
  run([&](Communicator &communicator, ThreadPool &pool) {
    std::vector<int> gathered(ranks(), -1);
    int rank = communicator.rank();
    gathered[rank] = rank;
    communicator.finish(communicator.startAllGather(
                            &gathered[rank], gathered.data(), sizeof(int)),
                        pool);
    for (int i = 0; i < ranks(); ++i)
      EXPECT_EQ(gathered[i], i);
  });
}

TEST_P(Comm, WaitLeavesTheShardToSlowerRanks) {
  run([&](Communicator &communicator, ThreadPool &pool) {
    int64_t bytes = 100000;
    std::vector<char> shard(bytes, char(communicator.rank()));
    std::vector<char> gathered(bytes * ranks());
    auto ticket =
        communicator.startAllGather(shard.data(), gathered.data(), bytes);
    if (communicator.rank() % 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    communicator.wait(ticket, pool);
    for (int64_t i = 0; i < bytes * ranks(); ++i)
      ASSERT_EQ(gathered[i], char(i / bytes));
    communicator.finish(ticket, pool);
    std::fill(shard.begin(), shard.end(), char(-1));
  });
}

template <typename T>
void reduceScatter(Communicator &communicator, ThreadPool &pool,
                   int64_t count) {
  int ranks = communicator.size(), rank = communicator.rank();
  std::vector<T> flat(count * ranks), shard(count);
  for (int64_t i = 0; i < count * ranks; ++i)
    flat[i] = valueOf<T>(rank, i);
  communicator.finish(communicator.startReduceScatter(flat.data(), shard.data(),
                                                      count,
                                                      dtypeOfElements<T>()),
                      pool);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(shard[i], sumInRankOrder<T>(ranks, rank * count + i)) << i;
}

TEST_P(Comm, ReduceScatterSumsInRankOrder) {
  for (int64_t count : {0, 1, 13, 140001 / ranks()})
    run([&](Communicator &communicator, ThreadPool &pool) {
      reduceScatter<float>(communicator, pool, count);
      reduceScatter<double>(communicator, pool, count);
      reduceScatter<int64_t>(communicator, pool, count);
    });
}

TEST_P(Comm, AllReduceOfSeveralSegmentsSumsInRankOrder) {
  for (int64_t count : {1, 13, 140001})
    run([&](Communicator &communicator, ThreadPool &pool) {
      int rank = communicator.rank();
      std::vector<float> floats(count);
      std::vector<double> doubles(3);
      std::vector<int64_t> integers(count / 2), none;
      for (int64_t i = 0; i < count; ++i)
        floats[i] = valueOf<float>(rank, i);
      for (int64_t i = 0; i < 3; ++i)
        doubles[i] = valueOf<double>(rank, i);
      for (int64_t i = 0; i < count / 2; ++i)
        integers[i] = valueOf<int64_t>(rank, i);
      const Segment segments[] = {{floats.data(), count, plan::FLOAT32},
                                  {none.data(), 0, plan::FLOAT32},
                                  {doubles.data(), 3, plan::FLOAT64},
                                  {integers.data(), count / 2, plan::INT64}};
      communicator.allReduce(segments, pool);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(floats[i], sumInRankOrder<float>(ranks(), i));
      for (int64_t i = 0; i < 3; ++i)
        ASSERT_EQ(doubles[i], sumInRankOrder<double>(ranks(), i));
      for (int64_t i = 0; i < count / 2; ++i)
        ASSERT_EQ(integers[i], sumInRankOrder<int64_t>(ranks(), i));
    });
}

TEST_P(Comm, CollectivesOverlapAndFinishInAnyOrder) {
  run([&](Communicator &communicator, ThreadPool &pool) {
    constexpr int rounds = 40;
    int rank = communicator.rank();
    std::vector<std::vector<float>> flats(rounds), shards(rounds),
        gathered(rounds);
    std::vector<Communicator::Ticket> scatters, gathers;
    int64_t count = 100;
    for (int round = 0; round < rounds; ++round) {
      for (int64_t i = 0; i < count * ranks(); ++i)
        flats[round].push_back(valueOf<float>(rank, i + round));
      shards[round].resize(count);
      gathered[round].resize(count * ranks());
      scatters.push_back(communicator.startReduceScatter(
          flats[round].data(), shards[round].data(), count, plan::FLOAT32));
      // Two are on their way at any time.
      if (round > 0) {
        communicator.finish(scatters[round - 1], pool);
        gathers.push_back(communicator.startAllGather(
            shards[round - 1].data(), gathered[round - 1].data(),
            count * sizeof(float)));
        communicator.wait(gathers.back(), pool);
      }
    }
    communicator.finish(scatters.back(), pool);
    // The oldest gathers are finished last.
    for (size_t i = gathers.size(); i-- > 0;)
      communicator.finish(gathers[i], pool);
    for (int round = 0; round + 1 < rounds; ++round)
      for (int64_t i = 0; i < count * ranks(); ++i)
        ASSERT_EQ(gathered[round][i],
                  sumInRankOrder<float>(ranks(), i + round));
  });
}

TEST_P(Comm, BarrierHoldsUntilAllHaveCome) {
  std::atomic<int> arrived{0};
  run([&](Communicator &communicator, ThreadPool &) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      communicator.barrier();
      EXPECT_GE(arrived.load(), round * ranks());
      communicator.barrier();
    }
  });
}

TEST_P(Comm, AFailingRankReleasesTheOthers) {
  std::atomic<int> released{0};
  try {
    run([&](Communicator &communicator, ThreadPool &pool) {
      std::vector<float> values(50000, 1), shard(50000);
      if (communicator.rank() == ranks() - 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        fail("disk is full");
      }
      try {
        if (communicator.rank() % 2)
          communicator.barrier();
        const Segment segment{values.data(), 50000, plan::FLOAT32};
        communicator.allReduce({&segment, 1}, pool);
      } catch (const Aborted &error) {
        ++released;
        EXPECT_NE(std::string(error.what()).find("disk is full"),
                  std::string::npos);
        throw;
      }
    });
    FAIL() << "expects the failure to come out";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "disk is full");
  }
  EXPECT_EQ(released.load(), ranks() - 1);
}

TEST_P(Comm, BuffersMayBeFreedAfterLeaving) {
  if (ranks() == 1)
    GTEST_SKIP() << "one rank waits for nobody";
  EXPECT_THROW(run([&](Communicator &communicator, ThreadPool &pool) {
                 int64_t count = (1 << 20) / ranks();
                 struct Leaving {
                   ~Leaving() { communicator.leave(); }
                   Communicator &communicator;
                 };
                 std::vector<float> flat(count * ranks()), shard(count);
                 Leaving leaving{communicator};
                 auto ticket = communicator.startReduceScatter(
                     flat.data(), shard.data(), count, plan::FLOAT32);
                 if (communicator.rank() == 0)
                   fail("gave up after a start");
                 communicator.finish(ticket, pool);
                 communicator.barrier();
               }),
               Error);
}

TEST_P(Comm, DisagreementIsAnError) {
  if (ranks() == 1)
    GTEST_SKIP() << "one rank agrees with itself";
  EXPECT_THROW(run([&](Communicator &communicator, ThreadPool &pool) {
                 std::vector<float> values(8);
                 const Segment segment{values.data(),
                                       communicator.rank() == 1 ? 7 : 8,
                                       plan::FLOAT32};
                 communicator.allReduce({&segment, 1}, pool);
               }),
               Error);
}

} // namespace

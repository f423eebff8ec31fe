// Conformance of communicators: every collective, type and shape of a group,
// against a serial computation.
#include "runtime/base/DType.h"
#include "runtime/base/Memory.h"
#include "test/runtime/comm/CommSuite.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>
#include <tuple>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// Every how many elements are looked at.
int64_t stepOf(int64_t count) { return count > 10000 ? 31 : 1; }

class Collectives
    : public testing::TestWithParam<std::tuple<CommSetting, plan::DType>> {
protected:
  GroupShape shape() { return std::get<0>(GetParam()).shape; }
  plan::DType dtype() { return std::get<1>(GetParam()); }

  /// body(group, world rank), as every rank.
  void run(const std::function<void(Communicator &, int)> &body) {
    GroupShape shape = this->shape();
    std::get<0>(GetParam())
        .implementation.run(shape.ranks, [&](Communicator &world) {
          // One rank in three has help.
          HelpingThreads helpers(world, world.rank() % 3 == 1 ? 3 : 1);
          Communicator &group = world.group(shape.stride, shape.size);
          ASSERT_EQ(group.size(), shape.size);
          ASSERT_EQ(group.rank(), world.rank() / shape.stride % shape.size);
          body(group, world.rank());
          // The others would wait for this rank for ever.
          if (HasFatalFailure())
            fail("a test failed");
        });
  }
  /// Elements per rank: none, few, odd, and, in the smallest worlds, enough
  /// that the work is cut into chunks.
  std::vector<int64_t> counts() {
    std::vector<int64_t> counts = {0, 1, 3, 17, 1031};
    if (shape().ranks == 2 || shape().ranks == 4)
      counts.push_back(severalChunks(dtype()));
    return counts;
  }
  static int64_t severalChunks(plan::DType dtype) {
    return (260 << 10) / int64_t(elementSize(dtype)) + 1;
  }
};

INSTANTIATE_TEST_SUITE_P(All, Collectives,
                         testing::Combine(testing::ValuesIn(commSettings()),
                                          testing::ValuesIn(reducibleTypes)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name() +
                                  plan::DType_Name(std::get<1>(info.param));
                         });

template <typename T>
void scatter(const GroupShape &shape, Communicator &group, int rank,
             plan::DType dtype, int64_t count) {
  std::vector<T> flat(count * shape.size), shard(count);
  for (int64_t i = 0; i < count * shape.size; ++i)
    flat[i] = valueOf<T>(rank, i);
  group.finish(
      group.startReduceScatter(flat.data(), shard.data(), count, dtype));
  for (int64_t i = 0; i < count; i += stepOf(count))
    ASSERT_TRUE(isSum(group, shard[i], shape, rank, group.rank() * count + i))
        << i << " of " << count;
}

TEST_P(Collectives, ReduceScatterSums) {
  run([&](Communicator &group, int rank) {
    for (int64_t count : counts())
      withElement(dtype(), [&]<typename T>(T) {
        scatter<T>(shape(), group, rank, dtype(), count);
      });
  });
}

/// To the bit, in whatever order the communicator adds.
template <typename T>
void expectEqualOnEveryRank(Communicator &group, const std::vector<T> &values) {
  size_t bytes = values.size() * sizeof(T);
  std::vector<char> all(bytes * group.size());
  group.finish(group.startAllGather(values.data(), all.data(), int64_t(bytes)));
  for (int place = 0; place < group.size() && bytes > 0; ++place)
    ASSERT_EQ(std::memcmp(all.data() + place * bytes, values.data(), bytes), 0)
        << "rank " << place << " of the group has other sums";
}

/// Three reductions in a row that are one sum: of the rank's elements shifted by
/// 0, 7 and 14. Where the order is that of ranks, the bits are those of one
/// reduction over three times as many.
template <typename T>
void scatterRunning(const GroupShape &shape, Communicator &group, int rank,
                    plan::DType dtype, int64_t count) {
  constexpr int64_t times = 3, shift = 7;
  std::vector<T> flat(count * shape.size), shard(count);
  std::vector<SumOf<T>> running(count);
  for (int64_t time = 0; time < times; ++time) {
    for (int64_t i = 0; i < count * shape.size; ++i)
      flat[i] = valueOf<T>(rank, i + time * shift);
    group.finish(group.startReduceScatter(
        flat.data(), shard.data(), count, dtype,
        {running.data(), time == 0, time + 1 == times}));
  }
  for (int64_t i = 0; i < count; i += stepOf(count)) {
    SumOf<T> sum{};
    double exact = 0, size = 0;
    for (int64_t time = 0; time < times; ++time)
      for (int place = 0; place < shape.size; ++place) {
        auto value =
            SumOf<T>(valueOf<T>(shape.member(rank, place),
                                group.rank() * count + i + time * shift));
        bool isFirst = time == 0 && place == 0;
        if constexpr (std::is_integral_v<T>)
          isFirst ? void(sum = value)
                  : void(__builtin_add_overflow(sum, value, &sum));
        else
          sum = isFirst ? value : sum + value;
        exact += double(value), size += std::fabs(double(value));
      }
    if (std::is_integral_v<T> || group.sumOrder() == SumOrder::Ranks)
      ASSERT_TRUE(sameBits(shard[i], T(sum))) << i << " of " << count;
    else
      ASSERT_NEAR(double(shard[i]), exact,
                  size * (sizeof(T) == 2   ? 0x1p-7
                          : sizeof(T) == 4 ? 0x1p-20
                                           : 0x1p-49))
          << i << " of " << count;
  }
}

/// Keeps what it is shown, and in which pieces.
class Seen : public ResultReader {
public:
  Seen(int64_t count, plan::DType dtype)
      : element(int64_t(elementSize(dtype))), bytes(count * element) {}
  void read(int64_t begin, std::span<const std::byte> elements) override {
    std::lock_guard lock(mutex);
    if (begin * element + std::ssize(elements) > std::ssize(bytes))
      fail("more elements than there are");
    if (!elements.empty())
      std::memcpy(&bytes[begin * element], elements.data(), elements.size());
    pieces.emplace_back(begin * element, std::ssize(elements));
  }
  void expect(const void *shard) {
    ASSERT_TRUE(bytes.empty() ||
                std::memcmp(bytes.data(), shard, bytes.size()) == 0);
    std::ranges::sort(pieces);
    int64_t end = 0;
    for (auto [begin, size] : pieces) {
      ASSERT_EQ(begin, end);
      end += size;
    }
    ASSERT_EQ(end, std::ssize(bytes));
  }

private:
  std::mutex mutex;
  int64_t element;
  std::vector<std::byte> bytes;
  std::vector<std::pair<int64_t, int64_t>> pieces;
};

// Also of a result that threads store around the caches.
TEST_P(Collectives, ReadersOfReduceScattersSeeEachElementOnce) {
  run([&](Communicator &group, int rank) {
    std::vector<int64_t> sizes = {0, 17};
    if (shape().ranks == 2)
      sizes.push_back(dtype() == plan::FLOAT32 ? (3 << 18) + 1
                                               : severalChunks(dtype()));
    for (int64_t count : sizes)
      withElement(dtype(), [&]<typename T>(T) {
        std::vector<T> flat(count * shape().size), shard(count);
        std::vector<SumOf<T>> running(count);
        for (int64_t i = 0; i < count * shape().size; ++i)
          flat[i] = valueOf<T>(rank, i);
        Seen last(count, dtype()), only(count, dtype());
        for (bool ends : {false, true})
          group.finish(group.startReduceScatter(
              flat.data(), shard.data(), count, dtype(),
              {running.data(), !ends, ends}, ends ? &last : nullptr));
        last.expect(shard.data());
        Communicator::Ticket ticket = group.startReduceScatter(
            flat.data(), shard.data(), count, dtype(), {}, &only);
        group.wait(ticket);
        only.expect(shard.data());
        group.finish(ticket);
      });
  });
}

TEST_P(Collectives, RunningSumsAreOneSum) {
  run([&](Communicator &group, int rank) {
    for (int64_t count : counts())
      withElement(dtype(), [&]<typename T>(T) {
        scatterRunning<T>(shape(), group, rank, dtype(), count);
      });
  });
}

TEST_P(Collectives, RunningSumsOfAllReduceAreOneSum) {
  run([&](Communicator &group, int rank) {
    withElement(dtype(), [&]<typename T>(T) {
      constexpr int64_t count = 3000;
      std::vector<T> values(count), shard(count);
      std::vector<SumOf<T>> running(count), scattered(count);
      for (int time = 0; time < 2; ++time) {
        for (int64_t i = 0; i < count; ++i)
          values[i] = valueOf<T>(rank, i + time);
        std::vector<T> flat;
        for (int place = 0; place < group.size(); ++place)
          flat.insert(flat.end(), values.begin(), values.end());
        RunningSum part{scattered.data(), time == 0, time == 1};
        group.finish(group.startReduceScatter(flat.data(), shard.data(), count,
                                              dtype(), part));
        Segment segment{values.data(),
                        count,
                        dtype(),
                        Combine::Sum,
                        {running.data(), time == 0, time == 1}};
        group.allReduce({&segment, 1});
      }
      if (group.sumOrder() == SumOrder::Ranks)
        for (int64_t i = 0; i < count; ++i)
          ASSERT_TRUE(sameBits(values[i], shard[i])) << i;
      expectEqualOnEveryRank(group, values);
    });
  });
}

/// Values of which one rank's is not a number now and then, and the maximum
/// that follows.
template <typename T> T maximumOperand(int rank, int64_t i) {
  if constexpr (!std::is_integral_v<T>)
    if ((i + rank) % 29 == 0)
      return T(std::numeric_limits<float>::quiet_NaN());
  T value = valueOf<T>(rank, i);
  return i % 2 ? T(-value) : value;
}
template <typename T>
T maximumOf(const GroupShape &shape, int rank, int64_t i) {
  T largest = maximumOperand<T>(shape.member(rank, 0), i);
  for (int place = 1; place < shape.size; ++place) {
    T value = maximumOperand<T>(shape.member(rank, place), i);
    if (value != value || (largest == largest && value > largest))
      largest = value;
  }
  return largest;
}

template <typename T>
void reduce(const GroupShape &shape, Communicator &group, int rank,
            plan::DType dtype, int64_t count) {
  // A second segment of another type, one of none, and a maximum.
  std::vector<T> values(count), maxima(count / 2 + 3);
  std::vector<double> doubles(3);
  for (int64_t i = 0; i < count; ++i)
    values[i] = valueOf<T>(rank, i);
  for (size_t i = 0; i < maxima.size(); ++i)
    maxima[i] = maximumOperand<T>(rank, i);
  for (int64_t i = 0; i < 3; ++i)
    doubles[i] = valueOf<double>(rank, i, 5);
  const Segment segments[] = {
      {values.data(), count, dtype},
      {nullptr, 0, dtype},
      {maxima.data(), int64_t(maxima.size()), dtype, Combine::Max},
      {doubles.data(), 3, plan::FLOAT64}};
  group.allReduce(segments);
  for (int64_t i = 0; i < count; i += stepOf(count))
    ASSERT_TRUE(isSum(group, values[i], shape, rank, i))
        << i << " of " << count;
  for (size_t i = 0; i < maxima.size(); i += stepOf(count)) {
    T expected = maximumOf<T>(shape, rank, i);
    if (expected != expected)
      ASSERT_TRUE(maxima[i] != maxima[i]) << i << ": a number";
    else
      ASSERT_TRUE(sameBits(maxima[i], expected)) << i;
  }
  for (int64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(isSum(group, doubles[i], shape, rank, i, 5));
  expectEqualOnEveryRank(group, values);
  expectEqualOnEveryRank(group, doubles);
}

TEST_P(Collectives, AllReduceCombinesSegments) {
  run([&](Communicator &group, int rank) {
    for (int64_t count : counts())
      withElement(dtype(), [&]<typename T>(T) {
        reduce<T>(shape(), group, rank, dtype(), count);
      });
  });
}

// The tests below need no type: they run over one.
class Groups : public Collectives {};
INSTANTIATE_TEST_SUITE_P(All, Groups,
                         testing::Combine(testing::ValuesIn(commSettings()),
                                          testing::Values(plan::UINT8)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name();
                         });

TEST_P(Groups, AllGatherPutsShardsInRankOrder) {
  run([&](Communicator &group, int rank) {
    for (int64_t bytes : {0, 1, 777, 600001 / shape().ranks}) {
      std::string shard(bytes, char('a' + rank)), expected;
      std::string gathered(bytes * shape().size, '?');
      group.finish(group.startAllGather(shard.data(), gathered.data(), bytes));
      for (int place = 0; place < shape().size; ++place)
        expected.append(bytes, char('a' + shape().member(rank, place)));
      ASSERT_TRUE(gathered == expected) << bytes << " bytes";
    }
  });
}

TEST_P(Groups, AllGatherTakesTheShardInPlace) {
  run([&](Communicator &group, int rank) {
    std::vector<int> gathered(shape().size, -1);
    int place = group.rank();
    gathered[place] = rank;
    group.finish(
        group.startAllGather(&gathered[place], gathered.data(), sizeof(int)));
    for (int i = 0; i < shape().size; ++i)
      EXPECT_EQ(gathered[i], shape().member(rank, i));
  });
}

// As often as it is gathered, nobody reads what the next gather writes.
TEST_P(Groups, RanksOfOneProcessGatherToOnePlace) {
  run([&](Communicator &group, int rank) {
    if (!group.hostRanks())
      return;
    int64_t bytes = 300000 / shape().ranks;
    std::shared_ptr<Memory> common =
        group.hostRanks()->sharedMemory("gathered", bytes * shape().size);
    for (int round = 0; round < 8; ++round) {
      std::string shard(bytes, char('a' + rank + round)), expected;
      for (int place = 0; place < shape().size; ++place)
        expected.append(bytes, char('a' + shape().member(rank, place) + round));
      auto ticket = group.startAllGather(shard.data(), common->data(), bytes);
      if ((rank + round) % 3 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      group.wait(ticket);
      ASSERT_EQ(std::memcmp(common->data(), expected.data(), expected.size()),
                0);
      group.finish(ticket);
    }
  });
}

/// Where the ranks' buffers lie in one host's memory.
class GroupsInOneHost : public Groups {};
// Where several processes run the tests, there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GroupsInOneHost);
INSTANTIATE_TEST_SUITE_P(All, GroupsInOneHost,
                         testing::Combine(testing::ValuesIn(commSettings(
                                              [](const Implementation &each) {
                                                return each.inOneHost;
                                              })),
                                          testing::Values(plan::UINT8)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name();
                         });

TEST_P(GroupsInOneHost, SharedMemoryIsOneBlockForAll) {
  run([&](Communicator &group, int) {
    for (int64_t bytes : {64, 4096, 3 << 20}) {
      std::shared_ptr<Memory> block =
          group.hostRanks()->sharedMemory("block", bytes);
      ASSERT_TRUE(block);
      ASSERT_EQ(block->size(), bytes);
      uintptr_t own = reinterpret_cast<uintptr_t>(block->data());
      std::vector<uintptr_t> all(shape().size);
      group.finish(group.startAllGather(&own, all.data(), sizeof(own)));
      for (uintptr_t address : all)
        EXPECT_EQ(address, own);
      for (int64_t i = 0; i < bytes; i += 63)
        ASSERT_EQ(block->data()[i], std::byte(0)) << i;
      group.barrier();
      // There until the last lets go.
      block->data()[group.rank()] = std::byte(group.rank() + 1);
      if (group.rank() + 1 < shape().size)
        block.reset();
      group.barrier();
      if (block)
        for (int place = 0; place < shape().size; ++place)
          EXPECT_EQ(block->data()[place], std::byte(place + 1));
    }
  });
}

/// Where the test's memory is all ranks'.
class GroupsInOneProcess : public Groups {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GroupsInOneProcess);
INSTANTIATE_TEST_SUITE_P(
    All, GroupsInOneProcess,
    testing::Combine(testing::ValuesIn(commSettings(isOneProcess)),
                     testing::Values(plan::UINT8)),
    [](const auto &info) { return std::get<0>(info.param).name(); });

// What is written before the start is read behind the wait, round after round.
TEST_P(GroupsInOneProcess, AStartedBarrierWaitsForEveryStart) {
  std::vector<std::atomic<int>> rounds(shape().ranks);
  run([&](Communicator &group, int rank) {
    for (int round = 1; round <= 50; ++round) {
      rounds[rank] = round;
      auto ticket = group.startBarrier();
      if ((round + group.rank()) % 7 == 0)
        std::this_thread::yield();
      group.wait(ticket);
      for (int place = 0; place < shape().size; ++place)
        ASSERT_EQ(rounds[shape().member(rank, place)], round);
      group.finish(ticket);
      group.barrier();
    }
  });
}

TEST_P(Groups, WaitLeavesTheShardToSlowerRanks) {
  run([&](Communicator &group, int rank) {
    int64_t bytes = 50000;
    std::string shard(bytes, char('a' + rank)), expected;
    std::string gathered(bytes * shape().size, '?');
    auto ticket = group.startAllGather(shard.data(), gathered.data(), bytes);
    if (rank % 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    group.wait(ticket);
    for (int place = 0; place < shape().size; ++place)
      expected.append(bytes, char('a' + shape().member(rank, place)));
    ASSERT_TRUE(gathered == expected);
    group.finish(ticket);
    std::fill(shard.begin(), shard.end(), '!');
  });
}

// The bound itself: no order exceeds it, and a rank that is left out does.
TEST(SumInSomeOrder, IsBoundedByItsRoundings) {
  for (plan::DType dtype : reducibleTypes)
    withElement(dtype, []<typename T>(T) {
      for (int64_t i = 0; i < 1000; ++i) {
        std::vector<T> terms;
        for (int rank = 0; rank < 7; ++rank)
          terms.push_back(valueOf<T>(rank, i));
        for (size_t first = 0; first < terms.size(); ++first) {
          std::rotate(terms.begin(), terms.begin() + 1, terms.end());
          SumOf<T> sum{};
          for (T term : terms)
            sum += SumOf<T>(term);
          ASSERT_TRUE(isSumInSomeOrder(T(sum), terms)) << i;
        }
        // The largest is more than what roundings of the sum come to.
        terms.back() = T(0);
        std::vector<T> all = terms;
        all.back() = T(SumOf<T>(2000));
        auto without = SumOf<T>();
        for (T term : terms)
          without += SumOf<T>(term);
        ASSERT_FALSE(isSumInSomeOrder(T(without), all)) << i;
      }
    });
}

} // namespace

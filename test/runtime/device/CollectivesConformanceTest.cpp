// Collectives, as entries of programs of several ranks.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {
namespace {

/// Groups of ranks of a world of `ranks`.
struct Shape {
  int ranks;
  int64_t stride, size;

  /// World rank of a member of the group that `rank` is in.
  int64_t member(int64_t rank, int64_t place) const {
    return rank + (place - rank / stride % size) * stride;
  }
};
const Shape shapes[] = {{1, 1, 1}, {2, 1, 2}, {3, 1, 3},
                        {4, 1, 4}, {4, 2, 2}, {4, 1, 2}};
constexpr int64_t counts[] = {0, 17, 5000};
constexpr plan::DType reducibleTypes[] = {plan::FLOAT64,  plan::FLOAT32,
                                          plan::BFLOAT16, plan::FLOAT16,
                                          plan::INT64,    plan::INT32};

bool isInteger(plan::DType dtype) {
  return dtype == plan::INT64 || dtype == plan::INT32;
}
/// What a rank brings.
Numbers broughtBy(int64_t rank, plan::DType dtype, int64_t count) {
  auto seed = unsigned(100 + rank);
  return isInteger(dtype)
             ? Numbers::integers(dtype, {count}, seed, -1000000, 1000000)
             : Numbers::random(dtype, {count}, seed);
}
/// The sum over the group that `rank` is in, of elements from `begin` on.
Expected sumOver(const Shape &of, int64_t rank, plan::DType dtype,
                 int64_t brought, int64_t begin, int64_t count) {
  Expected sum(count);
  for (int64_t place = 0; place < of.size; ++place) {
    Numbers own = broughtBy(of.member(rank, place), dtype, brought);
    for (int64_t i = 0; i < count; ++i)
      sum.add(i, own[begin + i],
              isInteger(dtype) ? 0
                               : double(of.size) * sumRoundoff(dtype) *
                                     std::fabs(own[begin + i]));
  }
  return isInteger(dtype) ? Expected(sum.values) : sum;
}

SHARDC_CONFORMANCE(StartAllGather);

TEST_P(StartAllGatherConformance, PutsShardsInTheOrderOfRanks) {
  for (const Shape &of : shapes)
    for (plan::DType dtype : {plan::FLOAT32, plan::BFLOAT16, plan::BOOL})
      for (int64_t count : counts)
        for (bool inPlace : {false, true})
          onRanks(of.ranks, [&](Bench &bench) {
            Communicator &group = bench.world.group(of.stride, of.size);
            auto shardOf = [&](int64_t rank) {
              return Numbers::integers(dtype, {count}, unsigned(rank), 0, 100);
            };
            Tensor gathered = bench.room(dtype, {of.size * count});
            Tensor shard =
                inPlace ? gathered : bench.put(shardOf(bench.rank()));
            std::vector<entry::Any> entries;
            if (inPlace) {
              shard.shape = {count};
              shard.data += group.rank() * count * sizeOf(dtype);
              entries.push_back(
                  entry::Copy{bench.put(shardOf(bench.rank())), shard});
            }
            entries.push_back(
                entry::StartAllGather{3, &group, shard, gathered});
            entries.push_back(entry::Wait{3, true});
            bench.run(entries);
            std::vector<double> expected;
            for (int64_t place = 0; place < of.size; ++place) {
              Numbers part = shardOf(of.member(bench.rank(), place));
              expected.insert(expected.end(), part.values.begin(),
                              part.values.end());
            }
            bench.expect(gathered, Expected(expected), "gathered");
          });
}

SHARDC_CONFORMANCE(StartReduceScatter);

TEST_P(StartReduceScatterConformance, AddsAndCuts) {
  for (const Shape &of : shapes)
    for (plan::DType dtype : reducibleTypes)
      for (int64_t count : counts)
        onRanks(of.ranks, [&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - shapes << ", " << plan::DType_Name(dtype)
                       << ", rank " << bench.rank());
          Communicator &group = bench.world.group(of.stride, of.size);
          int64_t all = count * of.size;
          Tensor shard = bench.room(dtype, {count});
          bench.run({entry::StartReduceScatter{
                         0, &group,
                         bench.put(broughtBy(bench.rank(), dtype, all)), shard},
                     entry::Wait{0, true}});
          bench.expect(shard,
                       sumOver(of, bench.rank(), dtype, all,
                               group.rank() * count, count),
                       "shard");
        });
}

// Each micro-batch brings the same, so the sum is theirs that many times.
TEST_P(StartReduceScatterConformance, AddsUpMicroBatches) {
  constexpr int64_t microBatches = 3;
  for (const Shape &of : shapes)
    for (plan::DType dtype : floatTypes)
      for (int64_t count : counts)
        onRanks(of.ranks, [&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - shapes << ", " << plan::DType_Name(dtype));
          Communicator &group = bench.world.group(of.stride, of.size);
          int64_t all = count * of.size;
          Tensor flat = bench.put(broughtBy(bench.rank(), dtype, all)),
                 shard = bench.room(dtype, {count}),
                 sum = bench.room(sumType(dtype), {count});
          StepNumbers numbers;
          numbers.microBatches = microBatches;
          for (; numbers.microBatch < microBatches; ++numbers.microBatch)
            bench.run({entry::StartReduceScatter{0, &group, flat, shard, sum},
                       entry::Wait{0, true}},
                      numbers);
          Expected once = sumOver(of, bench.rank(), dtype, all,
                                  group.rank() * count, count);
          for (int64_t i = 0; i < count; ++i) {
            once.values[i] *= microBatches;
            once.slack[i] *= microBatches * microBatches;
          }
          bench.expect(shard, once, "shard");
        });
}

SHARDC_CONFORMANCE(StartAllReduce);

TEST_P(StartAllReduceConformance, AddsUpMicroBatches) {
  constexpr int64_t microBatches = 3;
  for (const Shape &of : shapes)
    for (plan::DType dtype : floatTypes)
      onRanks(of.ranks, [&](Bench &bench) {
        constexpr int64_t count = 5000;
        Communicator &group = bench.world.group(of.stride, of.size);
        Numbers brought = broughtBy(bench.rank(), dtype, count);
        Tensor sum = bench.room(sumType(dtype), {count}), values;
        StepNumbers numbers;
        numbers.microBatches = microBatches;
        for (; numbers.microBatch < microBatches; ++numbers.microBatch) {
          values = bench.put(brought);
          bench.run({entry::StartAllReduce{0, &group, {values}, {false}, {sum}},
                     entry::Wait{0, true}},
                    numbers);
        }
        Expected once = sumOver(of, bench.rank(), dtype, count, 0, count);
        for (int64_t i = 0; i < count; ++i) {
          once.values[i] *= microBatches;
          once.slack[i] *= microBatches * microBatches;
        }
        bench.expect(values, once, "values");
      });
}

TEST_P(StartAllReduceConformance, AddsInPlace) {
  for (const Shape &of : shapes)
    for (plan::DType dtype : reducibleTypes)
      for (int64_t count : counts)
        onRanks(of.ranks, [&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - shapes << ", " << plan::DType_Name(dtype));
          Communicator &group = bench.world.group(of.stride, of.size);
          Tensor values = bench.put(broughtBy(bench.rank(), dtype, count)),
                 more = bench.put(broughtBy(bench.rank(), plan::FLOAT64, 3));
          bench.run(
              {entry::StartAllReduce{9, &group, {values, more}, {false, false}},
               entry::Wait{9, true}});
          bench.expect(values,
                       sumOver(of, bench.rank(), dtype, count, 0, count),
                       "values");
          bench.expect(more, sumOver(of, bench.rank(), plan::FLOAT64, 3, 0, 3),
                       "more");
        });
}

TEST_P(StartAllReduceConformance, CombinesNormsAsTheRunsNorm) {
  for (Norm norm : {Norm::One, Norm::Two, Norm::Inf})
    for (bool isNan : {false, true})
      onRanks(3, [&](Bench &bench) {
        double power = isNan && bench.rank() == 1 ? NAN : 2.0 + bench.rank();
        Tensor sum = bench.put(Numbers(plan::FLOAT64, {1}, power)),
               loss = bench.put(Numbers(plan::FLOAT64, {1}, power));
        StepNumbers numbers;
        numbers.clipNorm = norm;
        bench.run(
            {entry::StartAllReduce{1, &bench.world, {sum, loss}, {true, false}},
             entry::Wait{1, true}},
            numbers);
        double all = isNan ? NAN : 9;
        bench.expect(sum,
                     Expected(std::vector<double>{
                         norm == Norm::Inf && !isNan ? 4 : all}),
                     "norm");
        bench.expect(loss, Expected(std::vector<double>{all}), "loss");
      });
}

SHARDC_CONFORMANCE(StartBarrier);

TEST_P(StartBarrierConformance, IsPassedWhenAllHaveComeThere) {
  constexpr int ranks = 4, rounds = 20;
  std::vector<std::atomic<int>> come(ranks);
  onRanks(ranks, [&](Bench &bench) {
    Communicator &group = bench.world.group(2, 2);
    DeviceProgram &program =
        bench.programOf({entry::StartBarrier{1, &group}, entry::Wait{1, true}});
    for (int round = 1; round <= rounds; ++round) {
      come[bench.rank()] = round;
      Measurements measurements;
      program.run(0, 1, {}, measurements);
      program.run(1, 2, {}, measurements);
      bench.device->settle();
      EXPECT_GE(come[bench.rank()], round);
      EXPECT_GE(come[(bench.rank() + 2) % 4], round);
    }
  });
}

SHARDC_CONFORMANCE(Wait);

/// Several are on their way, and waited for in another order; the next run has
/// the same ids.
TEST_P(WaitConformance, ResultsAreThere) {
  onRanks(3, [&](Bench &bench) {
    constexpr int64_t count = 900;
    Numbers own = broughtBy(bench.rank(), plan::FLOAT32, count);
    Tensor shard = bench.put(own), sum = bench.put(own), flat = bench.put(own),
           part = bench.room(plan::FLOAT32, {count / 3}),
           gathered = bench.room(plan::FLOAT32, {3 * count}),
           copied = bench.room(plan::FLOAT32, {3 * count});
    const std::vector<entry::Any> entries = {
        entry::StartAllGather{1, &bench.world, shard, gathered},
        entry::StartReduceScatter{2, &bench.world, flat, part},
        entry::Wait{2, true},
        entry::StartAllReduce{2, &bench.world, {sum}, {false}},
        entry::Wait{1, true},
        entry::Copy{gathered, copied},
        entry::Wait{2, true},
        entry::Fill{shard, 5}};
    std::vector<double> expected;
    for (int64_t rank = 0; rank < 3; ++rank) {
      Numbers other = broughtBy(rank, plan::FLOAT32, count);
      expected.insert(expected.end(), other.values.begin(), other.values.end());
    }
    bench.run(entries);
    bench.expect(copied, Expected(expected), "copied");
    bench.expect(part,
                 sumOver(shapes[2], bench.rank(), plan::FLOAT32, count,
                         bench.rank() * count / 3, count / 3),
                 "part");
    bench.expect(
        sum, sumOver(shapes[2], bench.rank(), plan::FLOAT32, count, 0, count),
        "sum");
    bench.run(entries);
    bench.expect(copied, Expected(std::vector<double>(3 * count, 5)), "copied");
  });
}

TEST_P(WaitConformance, WhatWasNotStartedIsAnError) {
  onDevice([&](Bench &bench) {
    std::string error = bench.errorOf({entry::Wait{4, true}});
    EXPECT_EQ(error.find("entry 0: collective 4 "), 0u) << error;
  });
}

SHARDC_CONFORMANCE(Finish);

/// Behind it no rank reads what this one sent, however late it is.
TEST_P(FinishConformance, WhatWasSentMayBeWrittenAgain) {
  constexpr int64_t count = 20000;
  onRanks(4, [&](Bench &bench) {
    Tensor shard = bench.put(Numbers(plan::FLOAT32, {count}, bench.rank())),
           gathered = bench.room(plan::FLOAT32, {4 * count}),
           work = bench.room(plan::FLOAT32, {count});
    std::vector<entry::Any> entries;
    // Some ranks come later than others.
    for (int i = 0; i < 10 * bench.rank(); ++i)
      entries.push_back(entry::Fill{work, double(i)});
    entries.push_back(entry::StartAllGather{7, &bench.world, shard, gathered});
    entries.push_back(entry::Wait{7, false});
    // Ids that are not open are passed over.
    entries.push_back(entry::Finish{{2, 7}});
    entries.push_back(entry::Fill{shard, -1});
    entries.push_back(entry::Finish{{7}});
    bench.run(entries);
    std::vector<double> expected(4 * count);
    for (int64_t i = 0; i < 4 * count; ++i)
      expected[i] = double(i / count);
    bench.expect(gathered, Expected(expected), "gathered");
  });
}

} // namespace
} // namespace shardc::runtime

// The fork-join pool: every work item once, whatever the number of workers.
#include "runtime/base/ThreadPool.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace shardc::runtime;

namespace {

class Pool : public testing::TestWithParam<int> {
protected:
  ThreadPool pool{GetParam(), false};
};
INSTANTIATE_TEST_SUITE_P(Workers, Pool, testing::Values(1, 2, 3, 7));

TEST_P(Pool, RangesCoverTheExtentOnceAndEvenly) {
  for (int64_t extent : {0, 1, 2, 5, 7, 1000}) {
    std::vector<std::atomic<int>> seen(extent);
    std::atomic<int64_t> smallest{extent}, largest{0};
    pool.forRanges(extent, 1, [&](int64_t begin, int64_t end, int worker) {
      EXPECT_LT(worker, pool.workers());
      for (int64_t i = begin; i < end; ++i)
        ++seen[i];
      int64_t size = end - begin;
      for (int64_t known = smallest;
           size < known && !smallest.compare_exchange_weak(known, size);)
        ;
      for (int64_t known = largest;
           size > known && !largest.compare_exchange_weak(known, size);)
        ;
    });
    for (auto &count : seen)
      EXPECT_EQ(count.load(), 1);
    if (extent > 0)
      EXPECT_LE(largest - smallest, 1);
  }
}

TEST_P(Pool, RangesAreAtLeastTheGrain) {
  std::atomic<int> ranges{0};
  pool.forRanges(100, 40, [&](int64_t begin, int64_t end, int) {
    EXPECT_GE(end - begin, 40);
    ++ranges;
  });
  EXPECT_EQ(ranges.load(), std::min(pool.workers(), 2));
}

TEST_P(Pool, PiecesAreTakenOnceByAtMostTheLimit) {
  std::vector<std::atomic<int>> seen(100);
  pool.forItems(100, 2, [&](int64_t item, int worker) {
    EXPECT_LT(worker, 2);
    ++seen[item];
  });
  for (auto &count : seen)
    EXPECT_EQ(count.load(), 1);
}

TEST_P(Pool, ManySmallTasksInARow) {
  int64_t total = 0;
  for (int round = 0; round < 3000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.forRanges(10, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        sum += i;
    });
    total += sum;
  }
  EXPECT_EQ(total, 3000 * 45);
}

} // namespace

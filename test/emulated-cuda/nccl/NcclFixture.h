// What the suites of NCCL have in common.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_NCCLFIXTURE_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_NCCLFIXTURE_H

#include "test/emulated-cuda/nccl/TestedRanks.h"

#include <gtest/gtest.h>

namespace shardc::test::cuda {

class NcclFixture : public testing::Test {
protected:
  void SetUp() override {
    if (!opened().hasNccl || !opened().devices)
      GTEST_SKIP() << "no libnccl.so.2, or no device";
  }
  /// The numbers of ranks that there are devices for.
  static std::vector<int> rankCounts(int least = 1) {
    std::vector<int> counts;
    for (int ranks = least; ranks <= std::min(4, opened().devices); ++ranks)
      counts.push_back(ranks);
    return counts;
  }
};

/// For what only the tests' own library does.
class EmulatedNccl : public NcclFixture {
protected:
  void SetUp() override {
    if (!opened().emulated || !opened().hasNccl)
      GTEST_SKIP() << "not the emulated libraries";
    // A rank whose device is not there would be waited for.
    if (opened().devices < 4)
      GTEST_SKIP() << "needs 4 emulated devices";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

} // namespace shardc::test::cuda

#endif

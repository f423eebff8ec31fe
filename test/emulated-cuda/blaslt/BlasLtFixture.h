// What the suites of cuBLASLt have in common.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_BLASLTFIXTURE_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_BLASLTFIXTURE_H

#include "test/emulated-cuda/blaslt/TestedProduct.h"

#include <gtest/gtest.h>
#include <optional>

namespace shardc::test::cuda {

class BlasLtFixture : public testing::Test {
protected:
  void SetUp() override {
    if (!opened().hasBlasLt || !opened().devices)
      GTEST_SKIP() << "no libcublasLt.so, or no device";
    else
      held.emplace();
  }

  /// Runs the product by each algorithm that the heuristic names.
  void expectRight(const Wish &wish) {
    TestedProduct first(*held, wish);
    ASSERT_EQ(first.ask(), CUBLAS_STATUS_SUCCESS);
    ASSERT_FALSE(first.algorithms.empty());
    for (size_t i = 0; i < first.algorithms.size(); ++i) {
      TestedProduct product(*held, wish);
      ASSERT_EQ(product.ask(), CUBLAS_STATUS_SUCCESS);
      EXPECT_LE(product.algorithms[i].workspaceSize, wish.workspace);
      ASSERT_EQ(product.run(i), CUBLAS_STATUS_SUCCESS);
      EXPECT_LE(product.error(), 1) << "algorithm " << i;
    }
  }
  cublasStatus_t heuristicOf(const Wish &wish) {
    return TestedProduct(*held, wish).ask();
  }

  std::optional<Device> held;
};

} // namespace shardc::test::cuda

#endif

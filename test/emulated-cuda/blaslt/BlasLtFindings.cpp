// Misuse of cuBLASLt that the tests' own library finds.
#include "test/emulated-cuda/blaslt/BlasLtFixture.h"

#include <functional>

namespace shardc::test::cuda {
namespace {

/// What the real library forgives, or answers by a fault of the device.
class BlasLtFindings : public BlasLtFixture {
protected:
  void SetUp() override {
    if (!opened().emulated || !opened().hasBlasLt)
      GTEST_SKIP() << "a real library finds nothing";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  static void expectFinding(const Wish &wish,
                            const std::function<void(TestedProduct &)> &misuse,
                            const char *text) {
    EXPECT_EXIT(
        {
          Device device;
          TestedProduct product(device, wish);
          product.ask();
          misuse(product);
          device.settle();
        },
        testing::ExitedWithCode(codeOfFindings), text);
  }
};

TEST_F(BlasLtFindings, AnAlgorithmOfOtherBytesOrAnotherProduct) {
  expectFinding(
      {},
      [](TestedProduct &product) {
        product.algorithms[0].algo.data[3] ^= 1;
        product.run();
      },
      "the algorithm's bytes are not those");
  expectFinding(
      {},
      [](TestedProduct &product) {
        Wish wish;
        wish.m = 6;
        TestedProduct other(product.device, wish);
        other.ask();
        product.algorithms = other.algorithms;
        product.run();
      },
      "the algorithm is one for another product");
  expectFinding(
      {}, [](TestedProduct &product) { product.call(nullptr, 0); },
      "without an algorithm");
}

TEST_F(BlasLtFindings, PointersThatAreAlignedLessThanPromised) {
  Wish wish;
  wish.alignment = 16;
  for (CUdeviceptr TestedProduct::*data :
       {&TestedProduct::dataA, &TestedProduct::dataB, &TestedProduct::dataD})
    expectFinding(
        wish,
        [data](TestedProduct &product) {
          product.*data += 4;
          product.run();
        },
        "does not lie at the multiple of 16 bytes");
  wish.workspace = 1 << 20;
  expectFinding(
      wish,
      [](TestedProduct &product) {
        product.workspace += 16;
        product.call(&product.algorithms[0].algo, product.wish.workspace - 256);
      },
      "workspace does not lie at a multiple of 256");
  wish.epilogue = CUBLASLT_EPILOGUE_BIAS;
  expectFinding(
      wish,
      [](TestedProduct &product) {
        void *bias = pointer(product.dataBias + 4);
        opened().cublasLtMatmulDescSetAttribute(
            product.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
            sizeof(bias));
        product.run();
      },
      "the bias does not lie");
}

TEST_F(BlasLtFindings, MemoryThatIsNotTheProducts) {
  for (CUdeviceptr TestedProduct::*data :
       {&TestedProduct::dataA, &TestedProduct::dataB, &TestedProduct::dataD,
        &TestedProduct::workspace})
    expectFinding(
        {},
        [data](TestedProduct &product) {
          product.*data += 1 << 28;
          product.run();
        },
        "not all in one allocation");
  Wish deep;
  deep.k = 16;
  expectFinding(
      deep,
      [](TestedProduct &product) {
        product.dataD = product.dataA;
        product.run();
      },
      "D overlaps A or B");
  Wish adds;
  adds.beta = 1, adds.inPlace = false, adds.alignment = 4;
  expectFinding(
      adds,
      [](TestedProduct &product) {
        product.dataD = product.device.allocate(4096);
        product.dataC = product.dataD + 4;
        product.run();
      },
      "D overlaps C");
}

TEST_F(BlasLtFindings, WhatTheDriverSeesOfAProduct) {
  // What was never written, and what another stream still works on.
  expectFinding(
      {},
      [](TestedProduct &product) {
        product.dataB = product.device.allocate(4096);
        product.run();
        product.device.settle();
      },
      "cublasLtMatmul float32 .5, 3. x .3, 4.");
  expectFinding(
      {},
      [](TestedProduct &product) {
        Device &device = product.device;
        opened().cuMemsetD8Async(product.dataA, 0, 4, device.stream);
        opened().cuStreamCreateWithPriority(&device.stream,
                                            CU_STREAM_NON_BLOCKING, 0);
        product.run();
        device.settle();
      },
      "cublasLtMatmul float32 .5, 3. x .3, 4.");
}

TEST_F(BlasLtFindings, DescriptorsThatAreGone) {
  expectFinding(
      {},
      [](TestedProduct &product) {
        opened().cublasLtMatmulDescDestroy(product.desc);
        product.run();
      },
      "descriptor that was destroyed");
  expectFinding(
      {},
      [](TestedProduct &product) {
        opened().cublasLtMatrixLayoutDestroy(product.layoutB);
        product.run();
      },
      "layout that was destroyed");
}

} // namespace
} // namespace shardc::test::cuda

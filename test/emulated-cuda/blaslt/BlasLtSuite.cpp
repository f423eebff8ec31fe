// What the runtime relies on of cuBLASLt, against whatever libcublasLt.so.13 the
// loader finds: on a GPU the real one, else the tests' own.
#include "test/emulated-cuda/blaslt/BlasLtFixture.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace shardc::test::cuda {
namespace {

using BlasLtSuite = BlasLtFixture;

struct Types {
  cudaDataType input, output;
};
constexpr Types allTypes[] = {
    {CUDA_R_32F, CUDA_R_32F},   {CUDA_R_64F, CUDA_R_64F},
    {CUDA_R_16BF, CUDA_R_16BF}, {CUDA_R_16BF, CUDA_R_32F},
    {CUDA_R_16F, CUDA_R_16F},   {CUDA_R_16F, CUDA_R_32F}};

TEST_F(BlasLtSuite, KnowsItsVersionAndItsStatuses) {
  EXPECT_GE(opened().cublasLtGetVersion(), 120000u);
  EXPECT_STREQ(opened().cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED),
               "the requested functionality is not supported");
}

TEST_F(BlasLtSuite, MultipliesEveryTypeInEveryTransposition) {
  for (Types types : allTypes)
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (int64_t gap : {0, 8}) {
          SCOPED_TRACE(testing::Message()
                       << types.input << " to " << types.output << " op "
                       << transposeA << transposeB << " gap " << gap);
          Wish wish{.input = types.input, .output = types.output};
          wish.m = 24, wish.n = 16, wish.k = 40, wish.gap = gap;
          wish.transposeA = transposeA, wish.transposeB = transposeB;
          expectRight(wish);
        }
}

TEST_F(BlasLtSuite, MultipliesShapesThatNothingDivides) {
  for (Types types : allTypes)
    for (auto [m, n, k] : {std::tuple{1, 1, 1},
                           {7, 5, 3},
                           {1, 33, 129},
                           {65, 1, 2},
                           {131, 67, 257}}) {
      SCOPED_TRACE(testing::Message() << types.input << " to " << types.output
                                      << ": " << m << " " << n << " " << k);
      Wish wish{.input = types.input, .output = types.output};
      wish.m = m, wish.n = n, wish.k = k;
      wish.alignment = std::max(bytesOf(types.input), bytesOf(types.output));
      expectRight(wish);
    }
}

TEST_F(BlasLtSuite, ScalesAndAdds) {
  for (Types types : allTypes)
    for (bool inPlace : {true, false})
      for (auto [alpha, beta] :
           {std::pair{1.0, 1.0}, {0.5, -2.0}, {-1.0, 0.0}}) {
        SCOPED_TRACE(testing::Message()
                     << types.input << " to " << types.output << " in place "
                     << inPlace << ": " << alpha << " " << beta);
        Wish wish{.input = types.input, .output = types.output};
        wish.m = 16, wish.n = 24, wish.k = 8, wish.gap = 8;
        wish.alpha = alpha, wish.beta = beta, wish.inPlace = inPlace;
        expectRight(wish);
      }
}

TEST_F(BlasLtSuite, RoundsPartsWhereItMay) {
  // As an H200 did with cuBLASLt 13, of these very sizes.
  if (!opened().emulated)
    GTEST_SKIP() << "a real library may do without";
  Wish wish{.input = CUDA_R_16BF, .output = CUDA_R_16BF};
  wish.m = 16, wish.n = 24, wish.k = 8, wish.beta = 1;
  wish.reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  TestedProduct product(*held, wish);
  ASSERT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(product.error(), 1);
}

TEST_F(BlasLtSuite, DoesNotReadWhatBetaOfZeroLeavesOut) {
  Device &device = *held;
  Wish wish{.input = CUDA_R_16BF, .output = CUDA_R_32F};
  wish.m = wish.n = wish.k = 16;
  TestedProduct product(device, wish);
  std::vector<float> invalid(product.d.elements, NAN);
  device.upload(product.dataD, invalid.data(), invalid.size() * sizeof(float));
  ASSERT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_LE(product.error(), 1);
}

TEST_F(BlasLtSuite, TouchesNothingBetweenColumns) {
  // What lies there was never written, which the tests' own driver would find.
  Device &device = *held;
  for (Types types : allTypes) {
    Wish wish{.input = types.input, .output = types.output};
    wish.m = 16, wish.n = 8, wish.k = 24, wish.gap = 8;
    TestedProduct product(device, wish);
    auto copyColumns = [&](CUdeviceptr &data, const Placed &placed) {
      size_t size = bytesOf(placed.type);
      std::vector<char> bytes = device.get<char>(data, placed.elements * size);
      data = device.allocate(bytes.size());
      for (int64_t column = 0; column < placed.columns; ++column) {
        size_t at = placed.at(0, 0, column) * size;
        device.upload(data + at, &bytes[at], placed.rows * size);
      }
    };
    copyColumns(product.dataA, product.a);
    copyColumns(product.dataB, product.b);
    ASSERT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_LE(product.error(), 1);
  }
}

TEST_F(BlasLtSuite, WritesBesideAnotherStream) {
  // Two products fill halves of one matrix, side by side, in any order.
  const OpenedLibraries &cuda = opened();
  Device &device = *held;
  Wish wish{.input = CUDA_R_16BF, .output = CUDA_R_16BF};
  wish.m = 8, wish.n = 24, wish.k = 40, wish.gap = 8, wish.workspace = 0;
  TestedProduct first(device, wish), second(device, wish);
  second.dataD = second.dataC = first.dataD + 8 * 2;
  ASSERT_EQ(first.ask(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(second.ask(), CUBLAS_STATUS_SUCCESS);
  CUstream before = device.stream;
  SHARDC_CHECK(cuda.cuStreamCreateWithPriority(&device.stream,
                                               CU_STREAM_NON_BLOCKING, 0));
  ASSERT_EQ(second.run(), CUBLAS_STATUS_SUCCESS);
  std::swap(device.stream, before);
  ASSERT_EQ(first.run(), CUBLAS_STATUS_SUCCESS);
  SHARDC_CHECK(cuda.cuStreamSynchronize(before));
  SHARDC_CHECK(cuda.cuStreamDestroy(before));
  std::vector<char> bytes = first.bytes();
  for (int64_t column = 0; column < wish.n; ++column) {
    const char *one = &bytes[column * 32];
    EXPECT_EQ(std::string(one, 16), std::string(one + 16, 16));
  }
}

TEST_F(BlasLtSuite, MultipliesBatches) {
  for (Types types : allTypes)
    for (bool sharedB : {false, true})
      for (bool interleavedD : {false, true})
        for (double beta : {0.0, 1.0}) {
          SCOPED_TRACE(testing::Message()
                       << types.input << " to " << types.output << " shared "
                       << sharedB << " interleaved " << interleavedD);
          Wish wish{.input = types.input, .output = types.output};
          wish.m = 16, wish.n = 8, wish.k = 24, wish.batches = 3, wish.gap = 8;
          wish.transposeA = true, wish.beta = beta;
          wish.sharedB = sharedB, wish.interleavedD = interleavedD;
          expectRight(wish);
        }
}

TEST_F(BlasLtSuite, TakesRowsFirst) {
  for (Types types : allTypes)
    for (int which = 1; which < 8; ++which)
      for (bool transpose : {false, true}) {
        SCOPED_TRACE(testing::Message() << types.input << " to " << types.output
                                        << " orders " << which);
        Wish wish{.input = types.input, .output = types.output};
        wish.m = 16, wish.n = 8, wish.k = 24, wish.gap = 8, wish.batches = 2;
        wish.transposeA = transpose, wish.beta = 1;
        wish.rowsFirstA = which & 1, wish.rowsFirstB = which & 2;
        wish.rowsFirstD = which & 4;
        expectRight(wish);
      }
}

TEST_F(BlasLtSuite, AddsABias) {
  for (Types types : allTypes)
    for (int64_t batches : {1, 3})
      for (double beta : {0.0, 1.0}) {
        SCOPED_TRACE(testing::Message()
                     << types.input << " to " << types.output << " batches "
                     << batches << " beta " << beta);
        Wish wish{.input = types.input, .output = types.output};
        wish.m = 24, wish.n = 16, wish.k = 8, wish.batches = batches;
        wish.epilogue = CUBLASLT_EPILOGUE_BIAS, wish.beta = beta;
        expectRight(wish);
      }
}

TEST_F(BlasLtSuite, SumsABiasGradientBesideAProduct) {
  for (Types types : allTypes)
    for (bool other : {false, true}) {
      SCOPED_TRACE(testing::Message() << types.input << " to " << types.output
                                      << " other " << other);
      Wish wish{.input = types.input, .output = types.output};
      wish.m = 24, wish.n = 16, wish.k = 40, wish.alpha = 2;
      wish.epilogue = CUBLASLT_EPILOGUE_BGRADA, wish.transposeB = other;
      expectRight(wish);
      wish.epilogue = CUBLASLT_EPILOGUE_BGRADB, wish.transposeB = true;
      wish.transposeA = other;
      expectRight(wish);
    }
}

TEST_F(BlasLtSuite, RefusesBiasGradientsOfTheOtherTransposition) {
  Wish wish;
  wish.m = 24, wish.n = 16, wish.k = 40;
  wish.epilogue = CUBLASLT_EPILOGUE_BGRADA, wish.transposeA = true;
  EXPECT_EQ(heuristicOf(wish), CUBLAS_STATUS_NOT_SUPPORTED);
  wish.epilogue = CUBLASLT_EPILOGUE_BGRADB, wish.transposeB = false;
  EXPECT_EQ(heuristicOf(wish), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(BlasLtSuite, RefusesTypesThatItDoesNotHave) {
  for (Types types : {Types{CUDA_R_32F, CUDA_R_16BF},
                      {CUDA_R_32F, CUDA_R_64F},
                      {CUDA_R_16BF, CUDA_R_16F},
                      {CUDA_R_64F, CUDA_R_32F}})
    EXPECT_EQ(heuristicOf({.input = types.input, .output = types.output}),
              CUBLAS_STATUS_NOT_SUPPORTED)
        << types.input << " to " << types.output;
}

TEST_F(BlasLtSuite, RefusesShapesThatContradictEachOther) {
  Device &device = *held;
  const OpenedLibraries &cuda = opened();
  TestedProduct product(device, Wish{});
  auto askWith = [&](cublasLtMatrixLayout_t &one, uint64_t rows,
                     uint64_t columns, int64_t leading) {
    cublasLtMatrixLayout_t before = one;
    SHARDC_CHECK(cuda.cublasLtMatrixLayoutCreate(&one, CUDA_R_32F, rows,
                                                 columns, leading));
    cublasStatus_t status = product.ask();
    cuda.cublasLtMatrixLayoutDestroy(one);
    one = before;
    return status;
  };
  EXPECT_NE(askWith(product.layoutA, 5, 9, 5), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(askWith(product.layoutB, 3, 9, 3), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(askWith(product.layoutD, 5, 9, 5), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(askWith(product.layoutA, 5, 3, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.ask(), CUBLAS_STATUS_SUCCESS);
}

TEST_F(BlasLtSuite, ChecksTheSizesOfAttributes) {
  const OpenedLibraries &cuda = opened();
  int32_t four = 1;
  int64_t eight = 1;
  cublasLtMatmulDesc_t desc;
  SHARDC_CHECK(
      cuda.cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  auto setDesc = [&](cublasLtMatmulDescAttributes_t attribute,
                     const void *value, size_t bytes) {
    return cuda.cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes);
  };
  EXPECT_EQ(setDesc(CUBLASLT_MATMUL_DESC_TRANSA, &four, 4), 0);
  EXPECT_EQ(setDesc(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &eight, 8), 0);
  for (auto attribute :
       {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
        CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE}) {
    EXPECT_EQ(setDesc(attribute, &eight, 8), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(setDesc(attribute, &four, 2), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(setDesc(attribute, nullptr, 4), CUBLAS_STATUS_INVALID_VALUE);
  }
  EXPECT_EQ(setDesc(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &four, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cuda.cublasLtMatmulDescDestroy(desc), 0);

  cublasLtMatrixLayout_t layout;
  SHARDC_CHECK(cuda.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 4, 8));
  EXPECT_EQ(cuda.cublasLtMatrixLayoutSetAttribute(
                layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &eight, 8),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cuda.cublasLtMatrixLayoutSetAttribute(
                layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &eight, 8),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cuda.cublasLtMatrixLayoutSetAttribute(
                layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &four, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cuda.cublasLtMatrixLayoutDestroy(layout), 0);

  cublasLtMatmulPreference_t preference;
  SHARDC_CHECK(cuda.cublasLtMatmulPreferenceCreate(&preference));
  EXPECT_EQ(cuda.cublasLtMatmulPreferenceSetAttribute(
                preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &four, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(
      cuda.cublasLtMatmulPreferenceSetAttribute(
          preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &eight, 8),
      CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cuda.cublasLtMatmulPreferenceDestroy(preference), 0);
}

TEST_F(BlasLtSuite, NeedsTheWorkspaceThatItNames) {
  Device &device = *held;
  bool some = false, none = false;
  for (int64_t m = 256; m <= 1024; m += 256)
    for (Types types : allTypes) {
      Wish wish{.input = types.input, .output = types.output};
      wish.m = m, wish.n = 16, wish.k = 64;
      TestedProduct product(device, wish);
      ASSERT_EQ(product.ask(), CUBLAS_STATUS_SUCCESS);
      for (const cublasLtMatmulHeuristicResult_t &one : product.algorithms) {
        if (!one.workspaceSize) {
          none = true;
          continue;
        }
        some = true;
        EXPECT_EQ(product.call(&one.algo, one.workspaceSize - 1),
                  CUBLAS_STATUS_INVALID_VALUE);
      }
      wish.workspace = 0;
      expectRight(wish);
    }
  if (opened().emulated) {
    EXPECT_TRUE(some);
    EXPECT_TRUE(none);
  }
}

TEST_F(BlasLtSuite, TakesAnAlgorithmAgain) {
  // By its bytes, as they come from a file.
  const OpenedLibraries &cuda = opened();
  for (Types types : allTypes) {
    Wish wish{.input = types.input, .output = types.output};
    wish.m = 72, wish.n = 40, wish.k = 264;
    TestedProduct product(*held, wish);
    ASSERT_EQ(product.ask(), CUBLAS_STATUS_SUCCESS);
    auto check = [&](const cublasLtMatmulAlgo_t &algorithm,
                     cublasLtMatmulHeuristicResult_t &result) {
      return cuda.cublasLtMatmulAlgoCheck(
          product.handle, product.desc, product.layoutA, product.layoutB,
          product.layoutC, product.layoutD, &algorithm, &result);
    };
    for (const cublasLtMatmulHeuristicResult_t &one : product.algorithms) {
      cublasLtMatmulHeuristicResult_t result = {};
      ASSERT_EQ(check(one.algo, result), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(result.workspaceSize, one.workspaceSize);
      ASSERT_EQ(product.call(&one.algo, result.workspaceSize),
                CUBLAS_STATUS_SUCCESS);
      EXPECT_LE(product.error(), 1);
    }
    cublasLtMatmulHeuristicResult_t result = {};
    EXPECT_NE(check({}, result), CUBLAS_STATUS_SUCCESS);
  }
}

TEST_F(BlasLtSuite, RepeatsItsBits) {
  Device &device = *held;
  for (Types types : allTypes) {
    Wish wish{.input = types.input, .output = types.output};
    wish.m = 72, wish.n = 40, wish.k = 264;
    std::vector<char> before;
    for (int round = 0; round < 3; ++round) {
      TestedProduct product(device, wish);
      ASSERT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
      std::vector<char> bytes = product.bytes();
      if (round)
        EXPECT_EQ(bytes, before);
      before = bytes;
    }
  }
}

TEST_F(BlasLtSuite, CanBeCaptured) {
  const OpenedLibraries &cuda = opened();
  Device &device = *held;
  Wish wish{.input = CUDA_R_16BF, .output = CUDA_R_32F};
  wish.m = 24, wish.n = 16, wish.k = 40, wish.beta = 1, wish.alpha = 0.5;
  TestedProduct plain(device, wish), captured(device, wish);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(plain.run(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(captured.ask(), CUBLAS_STATUS_SUCCESS);

  CUgraph graph;
  CUgraphExec executable;
  SHARDC_CHECK(cuda.cuStreamBeginCapture(device.stream,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_EQ(captured.run(), CUBLAS_STATUS_SUCCESS);
  SHARDC_CHECK(cuda.cuStreamEndCapture(device.stream, &graph));
  SHARDC_CHECK(cuda.cuGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i)
    SHARDC_CHECK(cuda.cuGraphLaunch(executable, device.stream));
  EXPECT_EQ(captured.bytes(), plain.bytes());
  SHARDC_CHECK(cuda.cuGraphExecDestroy(executable));
  SHARDC_CHECK(cuda.cuGraphDestroy(graph));
}

} // namespace
} // namespace shardc::test::cuda

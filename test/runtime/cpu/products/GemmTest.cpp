// Matrix products against a plain reference, and their bits for every number of
// threads.
#include "runtime/cpu/products/Gemm.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/products/MicroKernels.h"
#include "runtime/cpu/products/TiledGemm.h"
#include "runtime/simd/Level.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

template <typename T> class GemmOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmOf, Types);

struct Case {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false, accumulate = false, bias = false;
  double alpha = 1;
  int64_t padding = 0; // elements between rows
};

template <typename T> struct Product {
  TestTensor<T> a, b, c, bias;
  Gemm<T> gemm{};

  explicit Product(const Case &of) {
    auto stored = [&](int64_t rows, int64_t columns, unsigned seed) {
      return TestTensor<T>::random({rows, columns}, {columns + of.padding, 1},
                                   seed);
    };
    a = of.transposeA ? stored(of.k, of.m, 1) : stored(of.m, of.k, 1);
    b = of.transposeB ? stored(of.n, of.k, 2) : stored(of.k, of.n, 2);
    c = stored(of.m, of.n, 3);
    bias = TestTensor<T>::random({of.n}, 4);
    gemm.m = of.m, gemm.n = of.n, gemm.k = of.k;
    gemm.a = a.storage.data(), gemm.strideA = a.view.strides[0];
    gemm.transposeA = of.transposeA;
    gemm.b = b.storage.data(), gemm.strideB = b.view.strides[0];
    gemm.transposeB = of.transposeB;
    gemm.c = c.storage.data(), gemm.strideC = c.view.strides[0];
    gemm.alpha = T(of.alpha);
    gemm.accumulate = of.accumulate;
    gemm.bias = of.bias ? bias.storage.data() : nullptr;
  }

  std::vector<double> expected() {
    std::vector<double> result;
    for (int64_t i = 0; i < gemm.m; ++i)
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < gemm.k; ++l)
          sum += double(gemm.transposeA ? a.at({l, i}) : a.at({i, l})) *
                 double(gemm.transposeB ? b.at({j, l}) : b.at({l, j}));
        sum *= gemm.alpha;
        if (gemm.accumulate)
          sum += c.at({i, j});
        if (gemm.bias)
          sum += bias.storage[j];
        result.push_back(sum);
      }
    return result;
  }
};

TYPED_TEST(GemmOf, MatchesTheReference) {
  using T = TypeParam;
  const Case cases[] = {{1, 1, 1},
                        {5, 7, 3, true, false},
                        {5, 7, 3, false, true, true, false, 0.5, 2},
                        {64, 65, 66, true, true, false, true},
                        {1, 200, 64, false, true, false, true},
                        {200, 1, 64, false, false, true},
                        {150, 130, 70, false, false, false, true, 1, 5},
                        {30, 2500, 40, false, true, false, true},
                        // Quicker than a library's call.
                        {1, 1, 64, false, true, false, false, 0.125},
                        {1, 64, 1, true, false, true},
                        {3, 2, 37, false, true, true, false, 0.5, 3},
                        {5, 33, 9, false, false, true, false, 2},
                        {7, 20, 12, true, false, false, false, -1, 2},
                        {4, 5, 0, false, false, false, true},
                        {4, 5, 0},
                        {4, 5, 0, false, false, true},
                        {0, 5, 3},
                        {4, 0, 3},
                        // Few rows, b transposed: computed the other way round.
                        {32, 700, 300, false, true},
                        {32, 700, 300, true, true, true, false, 1, 3},
                        {9, 300, 1111, false, true, false, true, 0.25},
                        {64, 3300, 70, false, true, false, false, 2},
                        // Widths around those of panels, deep and shallow.
                        {70, 17, 70},
                        {70, 65, 300, true},
                        {70, 80, 300, false, true, true},
                        {70, 33, 300, false, false, true},
                        {70, 48, 800, false, true},
                        {70, 49, 300, true},
                        {70, 112, 1600, false, false, false, true},
                        {70, 81, 20, true, false, false, true},
                        {600, 450, 300, true, true, false, true, 1, 1},
                        {600, 2150, 20, false, false, true},
                        {520, 40, 530, false, false, false, false, -1, 7},
                        // Whole tiles of rows, as long as they become.
                        {1536, 200, 32, true},
                        {1024, 210, 300, false, true},
                        {1032, 192, 600, false, false, true}};
  for (const Case &of : cases) {
    ThreadPool pool(2, false);
    Product<T> product(of);
    std::vector<double> expected = product.expected();
    gemm(product.gemm, pool);
    EXPECT_LE(deviation(product.c, expected), 4 * tolerance<T>())
        << of.m << "x" << of.n << "x" << of.k;
  }
}

// Shapes on both sides of every choice that Gemm.cpp makes: tall, wide (tiled
// by columns), small, ragged.
TYPED_TEST(GemmOf, HasTheSameBitsForEveryNumberOfThreads) {
  using T = TypeParam;
  const Case cases[] = {{130, 120, 70},
                        {333, 129, 100, false, true},
                        {1000, 64, 64, true},
                        {517, 300, 257, false, true, true},
                        {96, 96, 96, false, false, false, true},
                        {490, 569, 32, false, true},
                        {64, 3000, 65, false, true},
                        {100, 5000, 48, true, false, true},
                        {24, 4099, 96},
                        {40, 3000, 200, false, true, true},
                        {1100, 700, 300, true, true, false, true},
                        {800, 2200, 390, false, true, true},
                        {20, 16, 2000, true}};
  for (const Case &of : cases) {
    ThreadPool one(1, false);
    Product<T> reference(of);
    gemm(reference.gemm, one);
    for (int workers : {2, 3, 4}) {
      ThreadPool pool(workers, false);
      Product<T> product(of);
      gemm(product.gemm, pool);
      EXPECT_TRUE(sameBits(product.c, reference.c))
          << of.m << "x" << of.n << "x" << of.k << " on " << workers;
    }
  }
}

TYPED_TEST(GemmOf, BatchesMatchSingleProducts) {
  using T = TypeParam;
  for (Case of :
       {Case{20, 30, 10}, Case{300, 100, 50, false, true}, Case{16, 2100, 64}})
    for (int workers : {1, 2, 4}) {
      constexpr int64_t count = 3;
      ThreadPool pool(workers, false), one(1, false);
      Product<T> product(of);
      auto a = TestTensor<T>::random({count, of.m, of.k}, 5);
      TestTensor<T> c({count, of.m, of.n}), expected({count, of.m, of.n});
      product.gemm.a = a.storage.data();
      product.gemm.c = c.storage.data();
      // b is shared by all products.
      gemm(product.gemm, {count, of.m * of.k, 0, of.m * of.n}, pool);
      for (int64_t i = 0; i < count; ++i) {
        Gemm<T> single = product.gemm;
        single.a += i * of.m * of.k;
        single.c = expected.storage.data() + i * of.m * of.n;
        gemm(single, one);
      }
      EXPECT_TRUE(sameBits(c, expected)) << of.m << " on " << workers;
    }
}

/// The processor's own fused multiply-add, of which TiledGemm.h says every
/// element is one chain: no cut of any kind may change a bit. It runs where the
/// processor has AVX2 alone; built for one without FMA every step were a call.
[[gnu::target("fma")]] void expectChains(const Case &of, int workers = 3) {
  Product<float> product(of);
  ThreadPool pool(workers, false);
  std::vector<float> expected;
  const Gemm<float> &p = product.gemm;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = p.bias ? p.bias[j] : p.accumulate ? product.c.at({i, j}) : 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum = std::fma(
            p.a[p.transposeA ? l * p.strideA + i : i * p.strideA + l],
            p.b[p.transposeB ? j * p.strideB + l : l * p.strideB + j], sum);
      expected.push_back(sum);
    }
  gemm(product.gemm, pool);
  int64_t wrong = 0;
  for (int64_t i = 0; i < p.m * p.n; ++i)
    wrong += p.c[i / p.n * p.strideC + i % p.n] != expected[i];
  EXPECT_EQ(wrong, 0) << of.m << "x" << of.n << "x" << of.k << " transposed "
                      << of.transposeA << of.transposeB;
}

TEST(Gemm, ElementsAreChainsOfMultiplyAddsWhereKernelsAreGenerated) {
  if (!runsTiledGemm())
    GTEST_SKIP() << "OpenBLAS multiplies here: no AVX2, or SHARDC_GEMM";
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (bool accumulate : {false, true})
        for (const Case &of :
             {Case{40, 50, 60}, Case{5, 150, 270}, Case{64, 81, 300},
              Case{65, 97, 513}, Case{530, 80, 66}, Case{33, 600, 48},
              Case{200, 400, 30}, Case{31, 200, 2100}})
          expectChains({of.m, of.n, of.k, transposeA, transposeB, accumulate,
                        !accumulate, 1, 3});
  // Beyond one block of rows, of columns, and along the depth.
  expectChains({1560, 329, 70, true}, 1);
  expectChains({70, 600, 1030}, 1);
  // Blocks of one thread, the last one narrower than kernels are.
  expectChains({800, 70, 400, true, true, true}, 1);
  expectChains({390, 65545, 3}, 1);
  // Few rows of b where it lies, and rows of b that crowd the sets of a cache.
  for (int64_t rows : {3, 8, 12, 32, 61})
    expectChains({rows, 1024, 70, false, false, rows == 12, rows == 32});
}

/// Runs tests of this program again under `environment`: all of them, whatever
/// part of the tests this process runs.
void expectPasses(const std::string &environment, const std::string &filter) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::string command = "GTEST_TOTAL_SHARDS=1 GTEST_SHARD_INDEX=0 " +
                        environment + " '" + self + "' --gtest_filter='" +
                        filter + "' > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}
constexpr const char *allOfFloat32 = "GemmOf/0.*:HalfGemmOf/*:Gemm.Names*";

// Kernels that this processor would not choose by itself.
TEST(Gemm, OpenBlasPassesTheSameTests) {
  if (std::getenv("SHARDC_GEMM") || std::getenv("SHARDC_CPU"))
    GTEST_SKIP() << "is what the environment chose";
  if (simd::processorLevel() >= 3)
    expectPasses("SHARDC_GEMM=openblas SHARDC_OPENBLAS_CORETYPE=Haswell",
                 allOfFloat32);
  expectPasses("SHARDC_GEMM=openblas", allOfFloat32);
}

TEST(Gemm, FewerInstructionsPassTheSameTests) {
  if (std::getenv("SHARDC_GEMM") || std::getenv("SHARDC_CPU"))
    GTEST_SKIP() << "is what the environment chose";
  expectPasses("SHARDC_CPU=x86-64-v2", "GemmOf/0.Matches*:Gemm.Names*");
  if (simd::processorLevel() > 3)
    expectPasses("SHARDC_CPU=x86-64-v3",
                 std::string(allOfFloat32) + ":Gemm.Elements*");
}

/// A process that is told so blocks its products as for wider registers.
constexpr const char *lanesVariable = "SHARDC_TESTED_GEMM_LANES";
[[maybe_unused]] const bool isTold = [] {
  const char *lanes = std::getenv(lanesVariable);
  if (lanes)
    blockAsForLanes(std::atoi(lanes));
  return lanes != nullptr;
}();

TEST(Gemm, BlocksForWiderRegistersPassTheSameTests) {
  if (std::getenv("SHARDC_GEMM") || std::getenv("SHARDC_CPU"))
    GTEST_SKIP() << "is what the environment chose";
  if (simd::processorLevel() < 3)
    GTEST_SKIP() << "OpenBLAS multiplies here: no AVX2";
  expectPasses(std::string("SHARDC_CPU=x86-64-v3 ") + lanesVariable + "=16",
               "GemmOf/0.*:HalfGemmOf/*:Gemm.Elements*");
}

TEST(Gemm, NamesItsLibrary) {
  const char *wanted = std::getenv("SHARDC_GEMM");
  bool isOpenBlas =
      simd::level() < 3 || (wanted && std::string(wanted) == "openblas");
  EXPECT_EQ(std::string(gemmLibrary())
                .rfind(isOpenBlas ? "OpenBLAS " : "libxsmm ", 0),
            0u)
      << gemmLibrary();
}

TEST(Gemm, ClockCountsTheCallingThreadsTime) {
  ThreadPool pool(1, false);
  Product<float> product(Case{200, 200, 200});
  gemmClock(false);
  double before = gemmSeconds();
  gemm(product.gemm, pool);
  EXPECT_EQ(gemmSeconds(), before);
  gemmClock(true);
  gemm(product.gemm, pool);
  gemmClock(false);
  EXPECT_GT(gemmSeconds(), before);
}

} // namespace

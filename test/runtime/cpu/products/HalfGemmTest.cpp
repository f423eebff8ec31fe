// Products of 16-bit operands against double, their rounding, and their bits
// for every number of threads.
#include "runtime/cpu/products/HalfGemm.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

struct Case {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false, accumulate = false, bias = false;
  int64_t padding = 0; // elements between rows
};

/// A, B, C: element types; the bias has A's.
template <typename A, typename B, typename C> struct Product {
  TestTensor<A> a, bias;
  TestTensor<B> b;
  TestTensor<C> c;
  GemmDesc gemm{};
  Case of;

  explicit Product(const Case &given) : of(given) {
    a = of.transposeA ? stored<A>(of.k, of.m, 1) : stored<A>(of.m, of.k, 1);
    b = of.transposeB ? stored<B>(of.n, of.k, 2) : stored<B>(of.k, of.n, 2);
    c = stored<C>(of.m, of.n, 3);
    bias = TestTensor<A>::random({of.n}, 4);
    gemm.m = of.m, gemm.n = of.n, gemm.k = of.k;
    gemm.a = matrix(a, of.transposeA);
    gemm.b = matrix(b, of.transposeB);
    gemm.c = matrix(c, false);
    gemm.accumulate = of.accumulate;
    if (of.bias)
      gemm.bias = bias.view.data, gemm.biasDtype = bias.view.dtype;
  }
  template <typename T>
  TestTensor<T> stored(int64_t rows, int64_t columns, unsigned seed) {
    return TestTensor<T>::random({rows, columns}, {columns + of.padding, 1},
                                 seed);
  }
  template <typename T>
  static GemmDesc::Matrix matrix(const TestTensor<T> &of, bool transpose) {
    return {of.view.data, of.view.dtype, of.view.strides[0], transpose};
  }

  /// Row-major numbers of op(of) [rows, columns].
  template <typename T>
  static std::vector<double> numbers(TestTensor<T> &of, int64_t rows,
                                     int64_t columns, bool transpose) {
    std::vector<double> values;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        values.push_back(number(transpose ? of.at({j, i}) : of.at({i, j})));
    return values;
  }

  std::vector<double> expected() {
    std::vector<double> rows = numbers(a, of.m, of.k, of.transposeA),
                        columns = numbers(b, of.n, of.k, !of.transposeB),
                        result;
    for (int64_t i = 0; i < of.m; ++i)
      for (int64_t j = 0; j < of.n; ++j) {
        double sum = of.accumulate ? number(c.at({i, j})) : 0;
        if (of.bias)
          sum += number(bias.storage[j]);
        for (int64_t l = 0; l < of.k; ++l)
          sum += rows[i * of.k + l] * columns[j * of.k + l];
        result.push_back(sum);
      }
    return result;
  }

  void run(int workers) {
    ThreadPool pool(workers, false);
    // Written beyond its end, or by two threads, it would show.
    std::vector<double> workspace(
        workers * halfGemmWorkspace(of.m, of.n, of.k) / sizeof(double) + 1,
        NAN);
    workspace.back() = 77;
    halfGemm(gemm, reinterpret_cast<std::byte *>(workspace.data()), workers,
             pool);
    EXPECT_EQ(workspace.back(), 77);
  }
};

template <typename T> class HalfGemmOf : public testing::Test {};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(HalfGemmOf, Types);

template <typename A, typename B, typename C> void matches(const Case &of) {
  for (int workers : {1, 2}) {
    Product<A, B, C> product(of);
    std::vector<double> expected = product.expected();
    product.run(workers);
    EXPECT_LE(deviation(product.c, expected), 4 * tolerance<C>())
        << of.m << "x" << of.n << "x" << of.k;
  }
}

TYPED_TEST(HalfGemmOf, MatchesTheReference) {
  using T = TypeParam;
  const Case cases[] = {{1, 1, 1},
                        {5, 7, 3, true, false},
                        {5, 7, 3, false, true, true, false, 2},
                        {64, 65, 66, true, true, false, true},
                        {1, 200, 64, false, true, false, true},
                        {200, 1, 64, false, false, true},
                        {150, 130, 70, false, false, false, true, 5},
                        {30, 900, 40, false, true, false, true},
                        {400, 390, 520, true, true, true, false, 1}, // tiles
                        {4, 5, 0, false, false, false, true},
                        {4, 5, 0},
                        {4, 5, 0, false, false, true},
                        {0, 5, 3},
                        {4, 0, 3},
                        // Few rows, b transposed: computed the other way round.
                        {32, 700, 130, false, true},
                        {9, 300, 1112, true, true, true, false, 2},
                        {64, 2000, 70, false, true, false, true},
                        // Odd depths and strides, widths around a panel's.
                        {70, 80, 131, false, true, false, false, 1},
                        {70, 81, 33, true, false, true},
                        {530, 410, 521, true, true}};
  for (const Case &of : cases) {
    matches<T, T, T>(of);
    matches<T, T, float>(of);
    matches<float, T, T>(of);
    matches<T, float, float>(of);
  }
}

// A sum of 256 and many ones: rounded on the way it would stay at 256.
TYPED_TEST(HalfGemmOf, SumsInFloat32AndRoundsOnce) {
  using T = TypeParam;
  constexpr int64_t terms = 4097;
  Product<T, T, T> product(Case{1, 1, terms});
  for (int64_t i = 0; i < terms; ++i) {
    product.a.storage[i] = element<T>(i ? 1 : 256);
    product.b.storage[i] = element<T>(1);
  }
  product.run(1);
  EXPECT_EQ(number(product.c.storage[0]), number(element<T>(256 + 4096)));
}

TYPED_TEST(HalfGemmOf, HasTheSameBitsForEveryNumberOfThreads) {
  using T = TypeParam;
  const Case cases[] = {{130, 120, 70},
                        {333, 129, 100, false, true},
                        {1000, 64, 64, true},
                        {517, 800, 257, false, true, true},
                        {800, 500, 600, false, false, false, true},
                        {64, 3000, 65, false, true},
                        {24, 4099, 96},
                        {40, 3000, 200, false, true, true}};
  for (const Case &of : cases) {
    Product<T, T, float> wide(of);
    Product<T, T, T> reference(of);
    wide.run(1);
    reference.run(1);
    for (int workers : {2, 3, 4}) {
      Product<T, T, float> wideToo(of);
      Product<T, T, T> product(of);
      wideToo.run(workers);
      product.run(workers);
      EXPECT_TRUE(sameBits(wideToo.c, wide.c) &&
                  sameBits(product.c, reference.c))
          << of.m << "x" << of.n << "x" << of.k << " on " << workers;
    }
  }
}

TYPED_TEST(HalfGemmOf, BatchesMatchSingleProducts) {
  using T = TypeParam;
  constexpr int64_t count = 5, m = 30, n = 40, k = 20;
  for (int workers : {1, 3}) {
    ThreadPool pool(workers, false);
    auto a = TestTensor<T>::random({count, m, k}, 5);
    auto b = TestTensor<T>::random({k, n}, 6); // shared by all products
    TestTensor<T> c({count, m, n}), expected({count, m, n});
    GemmDesc product{m,
                     n,
                     k,
                     {a.view.data, a.view.dtype, k},
                     {b.view.data, b.view.dtype, n},
                     {c.view.data, c.view.dtype, n}};
    std::vector<double> workspace(workers * halfGemmWorkspace(m, n, k) /
                                  sizeof(double));
    auto *bytes = reinterpret_cast<std::byte *>(workspace.data());
    halfGemm(product, {count, m * k, 0, m * n}, bytes, workers, pool);
    for (int64_t i = 0; i < count; ++i) {
      GemmDesc single = product;
      single.a.data += i * m * k * int64_t(sizeof(T));
      single.c.data = expected.view.data + i * m * n * int64_t(sizeof(T));
      halfGemm(single, bytes, workers, pool);
    }
    EXPECT_TRUE(sameBits(c, expected)) << workers;
  }
}

} // namespace

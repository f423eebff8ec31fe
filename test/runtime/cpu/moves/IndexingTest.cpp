// Copies between layouts, embeddings, gathers and running sums.
#include "runtime/cpu/moves/Indexing.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

/// Strides of a tensor whose dims lie in memory in the order `order`, outermost
/// first, with gaps of `gap` elements.
std::vector<int64_t> stridesInOrder(const std::vector<int64_t> &shape,
                                    const std::vector<int> &order,
                                    int64_t gap) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0; stride += gap) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

template <typename T>
void copyMatches(const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &from,
                 const std::vector<int64_t> &to, int workers) {
  ThreadPool pool(workers, false);
  TestTensor<T> source(shape, from), destination(shape, to);
  std::iota(source.storage.begin(), source.storage.end(), T(1));
  copy(source.view, destination.view, pool);
  for (int64_t i = 0; i < source.elements(); ++i)
    ASSERT_EQ(destination[i], source[i]) << "element " << i;
}

TEST(Copy, TakesEveryOrderOfDims) {
  std::vector<int> from = {0, 1, 2, 3};
  do {
    for (int64_t gap : {0, 2}) {
      std::vector<int64_t> shape = {2, 5, 1, 18};
      copyMatches<float>(shape, stridesInOrder(shape, from, gap),
                         rowMajorStrides(shape), 2);
      copyMatches<uint8_t>(shape, rowMajorStrides(shape),
                           stridesInOrder(shape, from, gap), 1);
    }
  } while (std::next_permutation(from.begin(), from.end()));
}

TEST(Copy, TransposesAndLongRunsAreSharedByThreads) {
  for (int workers : {1, 3}) {
    copyMatches<double>({333, 129}, {1, 333}, {129, 1}, workers);
    copyMatches<int64_t>({320, 64}, {1, 320}, {64, 1}, workers);
    copyMatches<float>({100003}, {1}, {1}, workers);
    copyMatches<float>({4, 64, 96}, {64 * 96, 1, 64}, {64 * 96, 96, 1},
                       workers);
  }
}

/// Whether they are elements of more bytes or not: rows of an odd stride, and
/// memory that begins between two such elements.
TEST(Copy, MovesRunsOfAFew) {
  for (int64_t run : {2, 3, 4, 6, 8, 16})
    for (int64_t gap : {0, 1, 2}) {
      std::vector<int64_t> shape = {3, 33, 40, run},
                           turned = stridesInOrder(shape, {0, 2, 1, 3}, gap);
      copyMatches<float>(shape, turned, rowMajorStrides(shape), 2);
      copyMatches<double>(shape, rowMajorStrides(shape), turned, 1);
      copyMatches<int32_t>(shape, turned, rowMajorStrides(shape), 1);
      copyMatches<uint8_t>(shape, turned, turned, 1);
    }
  ThreadPool pool(1, false);
  TestTensor<float> source({20, 30, 2}, {60, 2, 1});
  TestTensor<float> destination({20, 30, 2}, {2, 40, 1});
  std::iota(source.storage.begin(), source.storage.end(), 1.0f);
  source.view.shape[0] = destination.view.shape[0] = 19;
  source.view.data += sizeof(float);
  copy(source.view, destination.view, pool);
  for (int64_t i = 0; i < 19; ++i)
    for (int64_t j = 0; j < 60; ++j)
      ASSERT_EQ(destination.storage[i * 2 + j / 2 * 40 + j % 2],
                source.storage[1 + i * 60 + j]);
}

TEST(Copy, RepeatsBroadcastDims) {
  copyMatches<float>({3, 4, 5}, {0, 1, 0}, {20, 5, 1}, 2);
  copyMatches<float>({7}, {0}, {1}, 1);
  copyMatches<double>({}, {}, {}, 1);
  copyMatches<double>({3, 0}, {1, 1}, {1, 1}, 1);
}

TEST(Fill, WritesTheValueInTheElementsType) {
  ThreadPool pool(2, false);
  TestTensor<float> floats({30, 7}, {9, 1});
  fill(floats.view, -0.5, pool);
  for (int64_t i = 0; i < floats.elements(); ++i)
    EXPECT_EQ(floats[i], -0.5f);
  EXPECT_EQ(floats.storage[7], 0) << "between the rows";
  TestTensor<BFloat16> half({3, 5});
  fill(half.view, -0.5, pool);
  for (BFloat16 value : half.storage)
    EXPECT_EQ(number(value), -0.5);
  TestTensor<int64_t> integers({100000});
  fill(integers.view, 42, pool);
  for (int64_t value : integers.storage)
    ASSERT_EQ(value, 42);
}

template <typename T> class EmbeddingOf : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(EmbeddingOf, Types);

TYPED_TEST(EmbeddingOf, ReadsRows) {
  using T = TypeParam;
  ThreadPool pool(3, false);
  auto table = TestTensor<T>::random({11, 70}, {72, 1}, 1);
  TestTensor<int32_t> ids({2, 3});
  ids.storage = {10, 0, 3, 3, 9, 1};
  ids.view.data = reinterpret_cast<std::byte *>(ids.storage.data());
  TestTensor<T> output({2, 3, 70}, {3 * 80, 80, 1});
  embedding(table.view, ids.view, output.view, pool);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 70; ++j)
      ASSERT_EQ(number(output[i * 70 + j]), number(table.at({ids[i], j})));
}

/// Rows of T are added in the type that is computed in; W: of the table.
template <typename T, typename W> void gradientMatches(int64_t width) {
  TestTensor<int64_t> ids({40});
  for (int64_t i = 0; i < 40; ++i)
    ids[i] = i * i % 9;
  auto gradient = TestTensor<T>::random({40, width}, 2);
  TestTensor<ComputeOf<T>> expected({12, width}, 0);
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < width; ++j)
      expected.at({ids[i], j}) += ComputeOf<T>(number(gradient.at({i, j})));
  for (int workers : {1, 2, 4}) {
    ThreadPool pool(workers, false);
    TestTensor<W> table({12, width}, {width + 3, 1}, element<W>(77));
    embeddingGrad(gradient.view, ids.view, table.view, pool);
    for (int64_t i = 0; i < table.elements(); ++i)
      ASSERT_EQ(number(table[i]), number(element<W>(expected[i])));
  }
}

/// The same, onto what the table holds: each row's sum begins with it.
template <typename T, typename W> void gradientAddsOntoTheTable(int64_t width) {
  TestTensor<int64_t> ids({40});
  for (int64_t i = 0; i < 40; ++i)
    ids[i] = i * i % 9;
  auto gradient = TestTensor<T>::random({40, width}, 2);
  auto base = TestTensor<W>::random({12, width}, 3);
  TestTensor<ComputeOf<T>> expected({12, width}, 0);
  for (int64_t row = 0; row < 12; ++row)
    for (int64_t j = 0; j < width; ++j) {
      expected.at({row, j}) = ComputeOf<T>(number(base.at({row, j})));
      for (int64_t i = 0; i < 40; ++i)
        if (ids[i] == row)
          expected.at({row, j}) += ComputeOf<T>(number(gradient.at({i, j})));
    }
  for (int workers : {1, 2, 4}) {
    ThreadPool pool(workers, false);
    TestTensor<W> table({12, width});
    for (int64_t i = 0; i < table.elements(); ++i)
      table[i] = base[i];
    embeddingGrad(gradient.view, ids.view, table.view, pool,
                  /*accumulate=*/true);
    for (int64_t i = 0; i < table.elements(); ++i)
      ASSERT_EQ(number(table[i]), number(element<W>(expected[i])));
  }
}

TYPED_TEST(EmbeddingOf, GradientAddsRowsInOrderOfTheIds) {
  using T = TypeParam;
  for (int64_t width : {1, 65, 300, 1030}) {
    gradientMatches<T, T>(width);
    gradientMatches<T, ComputeOf<T>>(width);
  }
}

TYPED_TEST(EmbeddingOf, GradientIsAddedOntoAnother) {
  using T = TypeParam;
  for (int64_t width : {1, 65, 300, 1030}) {
    gradientAddsOntoTheTable<T, T>(width);
    gradientAddsOntoTheTable<T, ComputeOf<T>>(width);
  }
}

TYPED_TEST(EmbeddingOf, AnIdOutsideTheTableIsNamed) {
  using T = TypeParam;
  ThreadPool pool(2, false);
  TestTensor<T> table({4, 3}), output({5, 3});
  TestTensor<int64_t> ids({5});
  ids[2] = 4;
  ids[4] = -1;
  try {
    embedding(table.view, ids.view, output.view, pool);
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "id 4 at position 2 is outside the table's [0, 4)");
  }
  EXPECT_THROW(embeddingGrad(output.view, ids.view, table.view, pool), Error);
}

TEST(Cumsum, RunsAlongAnAxisBothWays) {
  TestTensor<int64_t> input({2, 3, 2}), result({2, 3, 2});
  std::iota(input.storage.begin(), input.storage.end(), 1);
  cumsum(input.view, result.view, 1, false, false);
  EXPECT_EQ(result.storage,
            (std::vector<int64_t>{1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30}));
  cumsum(input.view, result.view, 1, true, false);
  EXPECT_EQ(result.storage,
            (std::vector<int64_t>{0, 0, 1, 2, 4, 6, 0, 0, 7, 8, 16, 18}));
  cumsum(input.view, result.view, 1, false, true);
  EXPECT_EQ(result.storage,
            (std::vector<int64_t>{9, 12, 8, 10, 5, 6, 27, 30, 20, 22, 11, 12}));
  cumsum(input.view, result.view, 2, true, true);
  EXPECT_EQ(result.storage,
            (std::vector<int64_t>{2, 0, 4, 0, 6, 0, 8, 0, 10, 0, 12, 0}));
}

TEST(Gather, TakesSlicesAlongAnAxis) {
  TestTensor<float> data({2, 3, 2}), result({2, 2, 2, 2});
  std::iota(data.storage.begin(), data.storage.end(), 0.f);
  TestTensor<int64_t> indices({2, 2});
  indices[0] = 2, indices[1] = 0, indices[2] = -1, indices[3] = -3;
  gather(data.view, indices.view, result.view, 1);
  EXPECT_EQ(result.storage, (std::vector<float>{4, 5, 0, 1, 4, 5, 0, 1, 10, 11,
                                                6, 7, 10, 11, 6, 7}));
  indices[3] = 3;
  EXPECT_THROW(gather(data.view, indices.view, result.view, 1), Error);
}

TEST(Gather, GradientAddsSlicesWhereTheyCameFrom) {
  TestTensor<double> gradient({2, 2, 2, 2}), result({2, 3, 2}, 77.0);
  std::iota(gradient.storage.begin(), gradient.storage.end(), 0.);
  TestTensor<int32_t> indices({2, 2});
  indices[0] = 2, indices[1] = 0, indices[2] = -1, indices[3] = 0;
  gatherGrad(gradient.view, indices.view, result.view, 1);
  EXPECT_EQ(result.storage,
            (std::vector<double>{8, 10, 0, 0, 4, 6, 24, 26, 0, 0, 20, 22}));
}

TEST(Gather, GradientOf16BitsIsSummedInFloat32) {
  // 256 + 1 is no bfloat16: sums that were rounded would stay at 256.
  TestTensor<BFloat16> gradient({5}, element<BFloat16>(1)), rounded({2});
  gradient[0] = element<BFloat16>(256);
  TestTensor<float> wide({2});
  TestTensor<int64_t> indices({5});
  gatherGrad(gradient.view, indices.view, wide.view, 0);
  EXPECT_EQ(wide.storage, (std::vector<float>{260, 0}));
  gatherGrad(gradient.view, indices.view, rounded.view, 0);
  EXPECT_EQ(number(rounded[0]), 260);
  EXPECT_EQ(number(rounded[1]), 0);
}

TEST(Cumsum, Of16BitsRunsInFloat32) {
  TestTensor<BFloat16> input({5}, element<BFloat16>(1)), result({5});
  input[0] = element<BFloat16>(256);
  cumsum(input.view, result.view, 0, false, false);
  const double sums[] = {256, 256, 258, 260, 260};
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(number(result[i]), sums[i]) << i;
}

TEST(GatherNd, ReadsTuplesAfterTheBatchDims) {
  TestTensor<int64_t> data({2, 3, 2});
  std::iota(data.storage.begin(), data.storage.end(), 0);
  TestTensor<int64_t> indices({2, 2}), result({2, 2});
  indices[0] = 1, indices[1] = 2, indices[2] = 0, indices[3] = -1;
  gatherNd(data.view, indices.view, result.view, 0);
  EXPECT_EQ(result.storage, (std::vector<int64_t>{10, 11, 4, 5}));
  TestTensor<int64_t> perBatch({2, 1}), rows({2, 2});
  perBatch[0] = 2, perBatch[1] = 0;
  gatherNd(data.view, perBatch.view, rows.view, 1);
  EXPECT_EQ(rows.storage, (std::vector<int64_t>{4, 5, 6, 7}));
}

} // namespace

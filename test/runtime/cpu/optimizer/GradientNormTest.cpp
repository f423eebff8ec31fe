// Norms of gradients: all at once, on several ranks, and as they come out of a
// reduction.
#include "runtime/cpu/optimizer/GradientNorm.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/AnyTensor.h"
#include "test/runtime/TestTensor.h"

#include "gtest/gtest.h"

#include <array>
#include <bit>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cpu;

namespace {

using Words = std::array<int64_t, ExactSum::words>;

template <typename T> class GradientNormOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GradientNormOf, Types);

/// The sum of powers, or the largest, that a norm has.
double powersOf(GradientNorm &norm, Norm of, ThreadPool &pool) {
  Words words;
  norm.compute(of, pool, {}, words);
  return of == Norm::Inf ? std::bit_cast<double>(words[0])
                         : ExactSum(words).round();
}

// Rows are what meshes do not cut: whoever has which of them, the sum has the
// same bits.
TYPED_TEST(GradientNormOf, RowsAddUpToTheSameBitsOnAnyNumberOfRanks) {
  using T = TypeParam;
  constexpr int64_t rows = 12, width = 5003, few = 24;
  auto a = TestTensor<T>::random({rows * width}, 1),
       b = TestTensor<T>::random({few}, 2);
  double expected = 0;
  for (T value : a.storage)
    expected += double(value) * double(value);
  for (T value : b.storage)
    expected += double(value) * double(value);
  Words all;
  for (int64_t ranks : {1, 2, 3, 4}) {
    ThreadPool pool(int(ranks), false);
    Words total{};
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Tensor ofA = a.view, ofB = b.view;
      ofA.shape = {rows / ranks * width}, ofB.shape = {few / ranks};
      ofA.data += rank * ofA.elements() * sizeof(T);
      ofB.data += rank * ofB.elements() * sizeof(T);
      GradientNorm norm({ofA, ofB},
                        {{{0, rows / ranks, width}}, {{0, few / ranks, 1}}});
      Words own;
      norm.compute(Norm::Two, pool, {}, own);
      for (size_t i = 0; i < own.size(); ++i)
        total[i] += own[i];
    }
    ExactSum(total).store(total);
    if (ranks == 1)
      all = total;
    EXPECT_EQ(total, all) << ranks;
  }
  EXPECT_NEAR(ExactSum(all).round(), expected, 1e-12 * expected);
}

TEST(GradientNorm, IsTheOneAskedForInEveryType) {
  ThreadPool pool(2, false);
  for (plan::DType dtype : floats)
    for (int64_t count : {0, 5, 70001}) {
      AnyTensor a(dtype, waves(count, 1.3, 0)), b(dtype, waves(7, 0.9, 1));
      double one = 0, two = 0, largest = 0;
      for (const AnyTensor *tensor : {&a, &b})
        for (double value : tensor->values()) {
          one += std::fabs(value);
          two += value * value;
          largest = std::max(largest, std::fabs(value));
        }
      GradientNorm norm({a.view, b.view}, {{{0, count, 1}}, {{0, 1, 7}}});
      EXPECT_NEAR(powersOf(norm, Norm::One, pool), one, 1e-12 * one);
      EXPECT_NEAR(powersOf(norm, Norm::Two, pool), two, 1e-12 * two);
      EXPECT_EQ(powersOf(norm, Norm::Inf, pool), largest);
      EXPECT_NEAR(rootOf(powersOf(norm, Norm::Two, pool), Norm::Two),
                  std::sqrt(two), 1e-12 * two);
      EXPECT_EQ(rootOf(largest, Norm::Inf), largest);
      if (count == 0)
        continue;
      // Neither is lost.
      for (double bad : {double(-INFINITY), double(NAN)}) {
        std::vector<double> values = a.values();
        values[count / 2] = bad;
        AnyTensor broken(dtype, values);
        GradientNorm of({broken.view, b.view}, {{{0, 1, count}}, {{0, 7, 1}}});
        for (Norm each : {Norm::One, Norm::Two, Norm::Inf})
          EXPECT_EQ(std::isnan(powersOf(of, each, pool)), std::isnan(bad));
        EXPECT_FALSE(std::isfinite(powersOf(of, Norm::Inf, pool)));
      }
    }
}

TEST(GradientNorm, LeavesOutWhatIsNotInARow) {
  ThreadPool pool(1, false);
  AnyTensor values(plan::FLOAT64, {1, NAN, 2, 4, NAN});
  GradientNorm norm({values.view}, {{{0, 1, 1}, {2, 1, 2}}});
  EXPECT_EQ(powersOf(norm, Norm::One, pool), 7);
  EXPECT_EQ(powersOf(norm, Norm::Inf, pool), 4);
}

Words wordsOf(GradientNorm norm, Norm of) {
  ThreadPool pool(2, false);
  Words words;
  norm.compute(of, pool, {}, words);
  return words;
}

/// Gives a reader `elements` in pieces of so many bytes, the last one first.
void readInPieces(ResultReader &reader, std::span<const std::byte> elements,
                  int64_t bytes, int64_t elementBytes) {
  for (int64_t piece = (std::ssize(elements) + bytes - 1) / bytes; piece-- > 0;)
    reader.read(piece * bytes / elementBytes,
                elements.subspan(
                    piece * bytes,
                    std::min<size_t>(bytes, elements.size() - piece * bytes)));
}

// Whatever the pieces cut: rows of vectors, between rows, one row in several
// places, and what is no row.
TEST(ReducedNorm, HasTheBitsOfTheNormThatIsComputedAtOnce) {
  std::vector<entry::Rows> rows = {{0, 40, 1},       {43, 7, 5},
                                   {78, 3, 100},     {378, 1, 3000},
                                   {3400, 1, 70000}, {73400, 2, 65537}};
  constexpr int64_t count = 73400 + 2 * 65537 + 11;
  for (plan::DType dtype : floats) {
    AnyTensor gradient(dtype, waves(count, 0.37, 0));
    auto element = int64_t(elementSize(dtype));
    for (Norm norm : {Norm::One, Norm::Two, Norm::Inf}) {
      Words expected = wordsOf(GradientNorm({gradient.view}, {rows}), norm);
      for (int64_t piece : {8, 24, 4096, 262144, 1 << 30}) {
        auto reduced = std::make_shared<ReducedNorm>(gradient.view, rows);
        // What was read before a begin does not count.
        reduced->read(0, gradient.bytes);
        reduced->begin(norm);
        readInPieces(*reduced, gradient.bytes, piece, element);
        EXPECT_EQ(
            wordsOf(GradientNorm({gradient.view}, {rows}, {reduced}), norm),
            expected)
            << dtypeName(dtype) << " " << int(norm) << " " << piece;
      }
    }
  }
}

TEST(ReducedNorm, AddsToWhatIsComputedOfOthers) {
  AnyTensor a(plan::FLOAT32, {1, 2, 3, 4}), b(plan::FLOAT32, {5, NAN, 7});
  auto reduced = std::make_shared<ReducedNorm>(
      a.view, std::vector<entry::Rows>{{1, 1, 3}});
  GradientNorm norm({b.view, a.view}, {{{0, 1, 1}, {2, 1, 1}}, {{1, 1, 3}}},
                    {nullptr, reduced});
  ThreadPool pool(1, false);
  for (Norm each : {Norm::One, Norm::Inf}) {
    reduced->begin(each);
    reduced->read(0, a.bytes);
    EXPECT_EQ(powersOf(norm, each, pool), each == Norm::One ? 21 : 7);
  }
}

} // namespace

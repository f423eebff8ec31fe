// The PTX of sums beside the processor's functions: equal bits.
#include "RunKernel.h"
#include "runtime/base/DType.h"
#include "runtime/base/ExactSum.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/comm/RankOrderSum.h"
#include "runtime/cpu/optimizer/Optimizer.h"
#include "runtime/cuda/kernels/SumsParameters.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace shardc::test {
namespace {

using namespace runtime;
namespace plan = shardc::plan;
using cuda::exactWords;

struct Type {
  plan::DType dtype;
  const char *name;
};
constexpr Type floats[] = {{plan::FLOAT64, "f64"},
                           {plan::FLOAT32, "f32"},
                           {plan::BFLOAT16, "bf16"},
                           {plan::FLOAT16, "f16"}};
constexpr Type integers[] = {{plan::INT64, "i64"}, {plan::INT32, "i32"}};

/// Elements of a type, at a multiple of 16 bytes and more.
class Values {
public:
  Values(plan::DType dtype, int64_t count, unsigned seed, int64_t shift = 0)
      : dtype(dtype), count(count), shift(shift),
        words(size_t((count + shift) * int64_t(elementSize(dtype)) / 8 + 3)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < count; ++i) {
      double value = std::ldexp(normal(random), int(random() % 12) - 6);
      uint64_t integer = random();
      if (isFloat(dtype))
        convertElements(&value, plan::FLOAT64, at(i), dtype, 1);
      else
        std::memcpy(at(i), &integer, elementSize(dtype));
    }
  }
  std::byte *at(int64_t i) {
    auto base = reinterpret_cast<uintptr_t>(words.data());
    base += -base % 16;
    return reinterpret_cast<std::byte *>(base) +
           (shift + i) * int64_t(elementSize(dtype));
  }
  Values copy() {
    Values other(dtype, count, 0, shift);
    std::memcpy(other.at(0), at(0), bytes());
    return other;
  }
  size_t bytes() const { return size_t(count) * elementSize(dtype); }
  bool equals(Values &other) {
    return std::memcmp(at(0), other.at(0), bytes()) == 0;
  }
  Tensor tensor() {
    Tensor of;
    of.data = at(0), of.dtype = dtype;
    of.shape = {count}, of.strides = {1};
    return of;
  }

  plan::DType dtype;
  int64_t count, shift;

private:
  std::vector<uint64_t> words;
};

TEST(SumsPtx, AddMicroBatches) {
  ThreadPool pool(1, false);
  auto check = [&](Type to, Type from) {
    for (int64_t shift : {0, 1})
      for (int64_t count : {1, 3001}) {
        SCOPED_TRACE(testing::Message()
                     << to.name << " += " << from.name << ", " << count
                     << ", shift " << shift);
        Values sum(to.dtype, count, 1, shift), value(from.dtype, count, 2);
        Values expected = sum.copy();
        cpu::accumulate(expected.tensor(), value.tensor(), pool);
        runKernel("Sums", std::string("add_") + to.name + "_" + from.name, 256,
                  cuda::AddParameters{addressIn(sum.at(0)),
                                      addressIn(value.at(0)), count});
        EXPECT_TRUE(sum.equals(expected));
      }
  };
  for (Type to : floats)
    for (Type from : floats)
      check(to, from);
  check(integers[0], integers[0]);
}

void checkOrdered(Type type, int64_t ranks, bool begins, bool ends,
                  int64_t shift) {
  constexpr int64_t count = 2005;
  int64_t stride = shift ? count : 2008;
  SCOPED_TRACE(testing::Message() << type.name << ", " << ranks << " ranks, "
                                  << begins << ends << ", shift " << shift);
  plan::DType sumType = Communicator::sumType(type.dtype);
  Values slices(type.dtype, stride * ranks, 3), result(type.dtype, count, 4);
  Values running(sumType, count, 5, shift);
  Values sum = result.copy(), sums = running.copy();
  std::vector<const std::byte *> sources;
  for (int64_t rank = 0; rank < ranks; ++rank)
    sources.push_back(slices.at(rank * stride));
  std::byte *destination = ends ? sum.at(0) : sums.at(0);
  combineInRankOrder({&destination, 1}, sources, count, type.dtype,
                     Combine::Sum, false,
                     {begins ? nullptr : sums.at(0), !ends});
  cuda::OrderedSumParameters with{addressIn(slices.at(0)),
                                  addressIn(result.at(0)),
                                  addressIn(running.at(0)),
                                  count,
                                  stride,
                                  ranks,
                                  begins,
                                  ends};
  runKernel("Sums", std::string("ordered_sum_") + type.name, 256, with);
  EXPECT_TRUE(result.equals(sum));
  EXPECT_TRUE(running.equals(sums));
}

TEST(SumsPtx, AddRanksInTheirOrder) {
  for (const auto &types :
       {std::span<const Type>(floats), std::span<const Type>(integers)})
    for (Type type : types)
      for (int64_t ranks : {1, 2, 7})
        for (bool begins : {false, true})
          for (bool ends : {false, true})
            for (int64_t shift : {0, 1})
              checkOrdered(type, ranks, begins, ends, shift);
}

TEST(SumsPtx, TakeTheMaximumOfRanks) {
  constexpr int64_t count = 1003, ranks = 3;
  for (const auto &types :
       {std::span<const Type>(floats), std::span<const Type>(integers)})
    for (Type type : types) {
      Values slices(type.dtype, count * ranks, 3), result(type.dtype, count, 4);
      double nan = NAN;
      if (isFloat(type.dtype))
        for (int64_t i : {7, 2000})
          convertElements(&nan, plan::FLOAT64, slices.at(i), type.dtype, 1);
      Values expected = result.copy();
      std::byte *destination = expected.at(0);
      const std::byte *sources[ranks];
      for (int64_t rank = 0; rank < ranks; ++rank)
        sources[rank] = slices.at(rank * count);
      combineInRankOrder({&destination, 1}, sources, count, type.dtype,
                         Combine::Max, false);
      runKernel("Sums", std::string("ordered_max_") + type.name, 256,
                cuda::OrderedSumParameters{addressIn(slices.at(0)),
                                           addressIn(result.at(0)), 0, count,
                                           count, ranks, 1, 1});
      EXPECT_TRUE(result.equals(expected)) << type.name;
    }
}

//===----------------------------------------------------------------------===//
// Exact sums and norms
//===----------------------------------------------------------------------===//

using Words = std::array<int64_t, exactWords>;
static_assert(exactWords == ExactSum::words);

/// Numbers of all sizes, and what is at the ends.
std::vector<double> corners() {
  std::vector<double> values = {0.0,
                                -0.0,
                                0x1p-1074,
                                -0x1p-1074,
                                0x1.fffffffffffffp-1023,
                                -0x1p-1022,
                                std::numeric_limits<double>::max(),
                                -std::numeric_limits<double>::max(),
                                INFINITY,
                                -INFINITY,
                                NAN};
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 60; ++i)
    values.push_back(std::ldexp(normal(random), int(random() % 2100) - 1074));
  return values;
}

TEST(ExactSumsPtx, HaveTheProcessorsWords) {
  for (double value : corners()) {
    ExactSum sum;
    sum.add(value);
    Words expected, words;
    sum.store(expected);
    runKernel(
        "ExactSums", "exact_sum", 256,
        cuda::ExactSumParameters{addressIn(&value), addressIn(words.data())},
        true);
    EXPECT_EQ(words, expected) << value;
  }
}

void checkRounded(Words words, double expected) {
  double value = 0;
  cuda::RunNumbers numbers{};
  numbers.norm = 2;
  runKernel("ExactSums", "round_sum", 256,
            cuda::RoundSumParameters{addressIn(words.data()), addressIn(&value),
                                     1, addressIn(&numbers)},
            true);
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(value));
  else
    EXPECT_EQ(value, expected);
  numbers.norm = 0; // the largest's bits, where the sum is of a norm
  cuda::RoundSumParameters with{addressIn(words.data()), addressIn(&value), 1,
                                addressIn(&numbers)};
  runKernel("ExactSums", "round_sum", 256, with, true);
  EXPECT_EQ(std::bit_cast<int64_t>(value), words[0]);
}

TEST(ExactSumsPtx, AreRoundedOnce) {
  std::vector<double> values = corners();
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    ExactSum sum;
    // As many as give halves of last places, and sums that cancel.
    double first = values[random() % values.size()];
    double places = std::ldexp(first, -53);
    for (double value :
         {first, i % 2 ? places : values[random() % values.size()],
          i % 3 ? -first : std::ldexp(places, -30)})
      sum.add(value);
    // Added word by word, as collectives add what they have not brought into
    // the one form.
    Words words, twice;
    sum.store(words);
    checkRounded(words, sum.round());
    for (int64_t word = 0; word < exactWords; ++word)
      twice[word] = 3 * words[word];
    checkRounded(twice, ExactSum(twice).round());
  }
}

struct NormCase {
  int64_t count, width;
};

/// The norm's words, after the kernel that ends it.
Words normOf(Type type, const std::vector<cuda::NormPart> &parts, int64_t p) {
  Words words{};
  cuda::RunNumbers numbers{};
  numbers.norm = p;
  runKernel("ExactSums", std::string("norm_") + type.name, 256,
            cuda::NormParameters{addressIn(parts.data()), std::ssize(parts),
                                 addressIn(&numbers), addressIn(words.data())});
  runKernel(
      "ExactSums", "exact_finish", 256,
      cuda::ExactFinishParameters{addressIn(words.data()), addressIn(&numbers)},
      true);
  return words;
}

TEST(ExactSumsPtx, NormsAreSumsOfPowers) {
  for (Type type : floats)
    for (NormCase of : {NormCase{700, 1}, NormCase{21, 3}, NormCase{17, 130},
                        NormCase{2, 5003}})
      for (int64_t p : {1, 2, 0}) {
        SCOPED_TRACE(testing::Message()
                     << type.name << ", width " << of.width << ", p " << p);
        Values gradient(type.dtype, of.count * of.width, 6);
        Words words =
            normOf(type, {{addressIn(gradient.at(0)), of.count, of.width}}, p);
        std::vector<double> values(gradient.count);
        convertElements(gradient.at(0), type.dtype, values.data(),
                        plan::FLOAT64, values.size());
        double largest = 0, sum = 0;
        for (double value : values) {
          largest = std::max(largest, std::fabs(value));
          sum += p == 2 ? value * value : std::fabs(value);
        }
        if (p == 0) {
          EXPECT_EQ(std::bit_cast<double>(words[0]), largest);
          continue;
        }
        EXPECT_NEAR(ExactSum(words).round(), sum, sum * 1e-12);
        if (of.width != 1)
          continue;
        // Elements are added exactly: the processor's words.
        ExactSum exact;
        for (double value : values)
          exact.add(p == 2 ? value * value : std::fabs(value));
        Words expected;
        exact.store(expected);
        EXPECT_EQ(words, expected);
      }
}

/// Wherever rows lie, and in whichever blocks.
TEST(ExactSumsPtx, NormsDoNotDependOnHowRowsAreCut) {
  for (Type type : floats)
    for (int64_t width : {1, 77, 4500}) {
      SCOPED_TRACE(testing::Message() << type.name << ", width " << width);
      constexpr int64_t count = 9;
      Values gradient(type.dtype, count * width, 7);
      Words whole =
          normOf(type, {{addressIn(gradient.at(0)), count, width}}, 2);
      // Slices of 4, 1 and 4 rows, each at another alignment.
      std::vector<Values> slices;
      std::vector<cuda::NormPart> parts;
      int64_t row = 0;
      for (auto [rows, shift] :
           {std::pair<int64_t, int64_t>{4, 3}, {1, 0}, {4, 1}}) {
        slices.emplace_back(type.dtype, rows * width, 0, shift);
        std::memcpy(slices.back().at(0), gradient.at(row * width),
                    slices.back().bytes());
        row += rows;
      }
      for (Values &slice : slices)
        parts.push_back({addressIn(slice.at(0)), slice.count / width, width});
      EXPECT_EQ(normOf(type, parts, 2), whole);
    }
}

TEST(ExactSumsPtx, NormsKeepWhatIsNotFinite) {
  for (Type type : floats)
    for (int64_t width : {1, 50, 5000})
      for (int64_t p : {1, 2, 0})
        for (double wrong : {double(INFINITY), double(NAN)}) {
          Values gradient(type.dtype, 10000, 8);
          convertElements(&wrong, plan::FLOAT64, gradient.at(7777), type.dtype,
                          1);
          Words words = normOf(
              type, {{addressIn(gradient.at(0)), 10000 / width, width}}, p);
          double got = p == 0 ? std::bit_cast<double>(words[0])
                              : ExactSum(words).round();
          EXPECT_TRUE(std::isnan(wrong) ? std::isnan(got) : got == wrong)
              << type.name << ", width " << width << ", p " << p << ": " << got;
        }
}

} // namespace
} // namespace shardc::test

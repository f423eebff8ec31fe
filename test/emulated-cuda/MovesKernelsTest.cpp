// Copies and fills of views, beside the processor's: equal bytes, also between
// and behind elements.
#include "RunMoves.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/moves/Indexing.h"
#include "runtime/cuda/kernels/Divisor.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace shardc::runtime;
using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

constexpr plan::DType ofEverySize[] = {plan::FLOAT64, plan::INT32,
                                       plan::BFLOAT16, plan::BOOL};

/// Strides of dims that lie in `order`, outermost first; rows of the innermost
/// are `gap` elements apart.
std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape,
                               const std::vector<size_t> &order, int64_t gap) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
    if (i + 1 == order.size())
      stride += gap;
  }
  return strides;
}

void compareCopy(const Room &from, const Room &to, std::set<std::string> &ran) {
  SCOPED_TRACE(from.tensor.describe());
  compareMoves(
      to,
      [&](const Tensor &tensor) {
        return movesOf(entry::Copy{from.tensor, tensor});
      },
      [&](const Tensor &tensor) { cpu::copy(from.tensor, tensor, testPool()); },
      ran);
}

TEST(MoveKernels, CopiesOfAnyViews) {
  std::set<std::string> ran;
  std::mt19937 random(1);
  auto below = [&](int64_t limit) { return int64_t(random() % limit); };
  for (int i = 0; i < 60; ++i)
    for (plan::DType dtype : ofEverySize) {
      std::vector<int64_t> shape(size_t(below(5)));
      for (int64_t &size : shape)
        size = below(6) == 0   ? 1
               : below(4) == 0 ? 8 * (1 + below(3))
                               : 1 + below(12);
      std::vector<size_t> order(shape.size());
      std::iota(order.begin(), order.end(), size_t(0));
      auto strides = [&] {
        if (below(2))
          std::shuffle(order.begin(), order.end(), random);
        return stridesOf(shape, order, below(3) == 0 ? below(17) : 0);
      };
      Room from(dtype, shape, strides(), below(3) ? 0 : below(9));
      from.fillWithBits(unsigned(i));
      // Some dims of the source are one element for all.
      if (below(4) == 0)
        for (int64_t &stride : from.tensor.strides)
          stride = below(2) ? stride : 0;
      compareCopy(from, Room(dtype, shape, strides(), below(3) ? 0 : below(9)),
                  ran);
    }
  for (const char *kernel :
       {"memcpy", "copy1", "copy2", "copy4", "copy8", "copy16", "transpose2"})
    EXPECT_EQ(ran.count(kernel), 1u) << kernel;
}

TEST(MoveKernels, TransposesOfManyTiles) {
  std::set<std::string> ran;
  for (plan::DType dtype : ofEverySize) {
    std::vector<int64_t> shape = {2, 70, 3, 130};
    Room from(dtype, shape, stridesOf(shape, {2, 3, 0, 1}, 0));
    compareCopy(from.fillWithBits(1),
                Room(dtype, shape, stridesOf(shape, {0, 1, 2, 3}, 5)), ran);
  }
  EXPECT_EQ(ran, (std::set<std::string>{"transpose1", "transpose2",
                                        "transpose4", "transpose8"}));
}

TEST(MoveKernels, ViewsOfTooManyDimsAreErrors) {
  std::vector<int64_t> shape(9, 2), order(9);
  Room from(plan::FLOAT32, shape,
            stridesOf(shape, {8, 7, 6, 5, 4, 3, 2, 1, 0}, 0)),
      to(plan::FLOAT32, shape);
  try {
    movesOf(entry::Copy{from.tensor, to.tensor});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("has 9 dims after merging neighbours, and CUDA's "
                        "kernels take 8"),
              std::string::npos)
        << error.what();
  }
}

TEST(MoveKernels, FillsAnyViews) {
  std::set<std::string> ran;
  std::mt19937 random(2);
  auto below = [&](int64_t limit) { return int64_t(random() % limit); };
  for (plan::DType dtype :
       {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16, plan::FLOAT16,
        plan::INT64, plan::INT32, plan::INT8, plan::UINT8, plan::BOOL})
    for (double value : {0.0, -0.0, 1.0, -3.0, 1.001953125, 7e4, -1e300,
                         double(INFINITY), double(NAN)}) {
      bool isInteger = dtype != plan::FLOAT64 && dtype != plan::FLOAT32 &&
                       dtype != plan::BFLOAT16 && dtype != plan::FLOAT16;
      if (isInteger && !(std::fabs(value) < 100))
        continue;
      SCOPED_TRACE(value);
      std::vector<int64_t> shape = {1 + below(5), 1 + below(9), 4};
      std::vector<size_t> order = {0, 1, 2};
      std::shuffle(order.begin(), order.end(), random);
      for (int64_t gap : {int64_t(0), 1 + below(16)})
        compareMoves(
            Room(dtype, shape, stridesOf(shape, order, gap), below(5)),
            [&](const Tensor &tensor) {
              return movesOf(entry::Fill{tensor, value});
            },
            [&](const Tensor &tensor) { cpu::fill(tensor, value, testPool()); },
            ran);
    }
  for (const char *kernel :
       {"memset", "fill1", "fill2", "fill4", "fill8", "fill16"})
    EXPECT_EQ(ran.count(kernel), 1u) << kernel;
}

TEST(MoveKernels, DivisorsAreExact) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    auto number =
        1 + unsigned(random() & 0x7fffffff) % ((1u << (1 + i % 31)) - 1);
    Divisor by = divisorOf(number);
    for (unsigned index :
         {0u, number - 1, number, 0x7fffffffu, 0x7fffffffu / number * number,
          0x7fffffffu / number * number - 1, unsigned(random() & 0x7fffffff)}) {
      uint64_t high = (uint64_t(index) * by.multiplier) >> 32;
      ASSERT_EQ((unsigned(high) + index) >> by.shift, index / number)
          << index << " / " << number;
    }
  }
}

} // namespace
} // namespace shardc::test

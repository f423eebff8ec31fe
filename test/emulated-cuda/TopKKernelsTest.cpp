// The largest and smallest elements of rows, beside a sort of each row.
#include "RunMoves.h"
#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace shardc::runtime;
using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

template <typename T>
std::vector<int64_t> sorted(const T *row, int64_t size, bool smallest) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  auto isLess = [](T a, T b) { // what is no number is the largest
    return b != b ? a == a : a < b;
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return smallest ? isLess(row[a], row[b]) : isLess(row[b], row[a]);
  });
  return order;
}

std::vector<int64_t> orderOf(const Tensor &data, int64_t row, bool smallest) {
  int64_t size = data.shape.back();
  const std::byte *from =
      data.data + row * size * int64_t(elementSize(data.dtype));
  if (isFloat(data.dtype)) {
    std::vector<double> values(size);
    convertElements(from, data.dtype, values.data(), plan::FLOAT64, size);
    return sorted(values.data(), size, smallest);
  }
  std::vector<int64_t> values(size);
  convertElements(from, data.dtype, values.data(), plan::INT64, size);
  return sorted(values.data(), size, smallest);
}

struct Case {
  std::vector<int64_t> shape;
  int64_t kept;
};
const Case cases[] = {{{9}, 4},       {{9}, 9},       {{4, 5, 7}, 1},
                      {{3, 300}, 8},  {{200, 33}, 5}, {{0, 6}, 2},
                      {{3, 4}, 0},    {{2, 1}, 1},    {{2, 2048}, 20},
                      {{2, 2049}, 6}, {{4, 5000}, 3}};

void compare(const Room &data, int64_t kept, bool smallest,
             std::set<std::string> &ran) {
  const Tensor &from = data.tensor;
  auto element = int64_t(elementSize(from.dtype));
  int64_t size = from.shape.back();
  std::vector<int64_t> shape = from.shape;
  shape.back() = kept;
  for (Runs how : {Runs::Host, Runs::Ptx}) {
    Room values(from.dtype, shape), places(plan::INT64, shape);
    ASSERT_EQ(runMoves(movesOf(entry::TopK{from, values.tensor, places.tensor,
                                           smallest}),
                       how, ran),
              "");
    for (int64_t row = 0; row * kept < values.tensor.elements(); ++row) {
      std::vector<int64_t> order = orderOf(from, row, smallest);
      for (int64_t i = 0; i < kept; ++i) {
        ASSERT_EQ(places.tensor.as<int64_t>()[row * kept + i], order[i])
            << from.describe() << ", place " << i << " of row " << row;
        ASSERT_EQ(std::memcmp(values.tensor.data + (row * kept + i) * element,
                              from.data + (row * size + order[i]) * element,
                              size_t(element)),
                  0);
      }
    }
  }
}

TEST(TopKKernels, PickInOrder) {
  std::set<std::string> ran;
  for (const Case &of : cases)
    for (bool smallest : {false, true})
      for (plan::DType dtype :
           {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16, plan::FLOAT16,
            plan::INT64, plan::INT32, plan::INT8, plan::UINT8}) {
        Room data(dtype, of.shape);
        compare(data.fillWithBits(1), of.kept, smallest, ran);
        // Many equal ones, which keep their order.
        bool hasSign = dtype != plan::UINT8;
        compare(data.fillWithIntegers(2, hasSign ? -3 : 0, 5), of.kept,
                smallest, ran);
      }
  EXPECT_EQ(ran.size(), 16u);
}

TEST(TopKKernels, ZerosAreEqualAndWhatIsNoNumberIsTheLargest) {
  std::set<std::string> ran;
  for (bool smallest : {false, true})
    for (int64_t size : {7, 2100}) {
      Room data(plan::FLOAT32, {size});
      auto *values = data.tensor.as<float>();
      for (int64_t i = 0; i < size; ++i)
        values[i] = float(i % 5) - 2;
      const float special[] = {0.0f, -0.0f, NAN, -NAN, 0.0f, -0.0f, INFINITY};
      std::copy(std::begin(special), std::end(special), values);
      compare(data, 7, smallest, ran);
    }
}

} // namespace
} // namespace shardc::test

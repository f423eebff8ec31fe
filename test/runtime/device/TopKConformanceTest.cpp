// The largest and smallest elements of rows, beside a sort of each row.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(TopK);

struct Case {
  std::vector<int64_t> shape;
  int64_t kept;
};
const Case cases[] = {{{9}, 4},      {{9}, 9},       {{4, 5, 7}, 1},
                      {{3, 300}, 8}, {{200, 33}, 5}, {{0, 6}, 2},
                      {{3, 4}, 0},   {{2, 1}, 1}};

/// The places of a row's elements in the order asked for.
std::vector<int64_t> ordered(const double *row, int64_t size, bool smallest) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  auto rank = [&](int64_t i) {
    double value = std::isnan(row[i]) ? 2 * HUGE_VAL : row[i];
    return smallest ? value : -value;
  };
  // Infinity is not in these rows, so that what is no number can be it.
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
  return order;
}

void compare(Bench &bench, const Numbers &data, int64_t kept, bool smallest) {
  int64_t size = data.shape.back();
  std::vector<int64_t> shape = data.shape;
  shape.back() = kept;
  Tensor values = bench.room(data.dtype, shape),
         indices = bench.room(plan::INT64, shape);
  bench.run(entry::TopK{bench.put(data), values, indices, smallest});
  std::vector<double> elements, places;
  for (int64_t row = 0; row * size < data.elements(); ++row) {
    const double *from = data.values.data() + row * size;
    std::vector<int64_t> order = ordered(from, size, smallest);
    for (int64_t i = 0; i < kept; ++i) {
      elements.push_back(from[order[i]]);
      places.push_back(double(order[i]));
    }
  }
  bench.expect(values, Expected(elements), "values");
  bench.expect(indices, Expected(places), "indices");
}

TEST_P(TopKConformance, PicksInOrder) {
  for (const Case &of : cases)
    for (bool smallest : {false, true}) {
      for (plan::DType dtype : floatTypes)
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - cases << ", " << plan::DType_Name(dtype));
          compare(bench, Numbers::random(dtype, of.shape, 1), of.kept,
                  smallest);
        });
      // Many equal ones among them, which keep their order.
      for (plan::DType dtype :
           {plan::INT64, plan::INT32, plan::INT8, plan::UINT8})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - cases << ", " << plan::DType_Name(dtype));
          int64_t least = dtype == plan::UINT8 ? 0 : -3;
          compare(bench, Numbers::integers(dtype, of.shape, 2, least, 5),
                  of.kept, smallest);
        });
    }
}

TEST_P(TopKConformance, WhatIsNoNumberIsTheLargest) {
  for (bool smallest : {false, true})
    for (plan::DType dtype : floatTypes)
      onDevice([&](Bench &bench) {
        compare(bench, Numbers(dtype, {5}, {1, NAN, -2, NAN, 0.5}), 4,
                smallest);
      });
}

TEST_P(TopKConformance, WideIntegersAreNotRounded) {
  onDevice([&](Bench &bench) {
    // float64 holds both, float32 neither.
    compare(bench, Numbers(plan::INT64, {3}, {16777217, 16777216, 16777218}), 2,
            false);
  });
}

} // namespace
} // namespace shardc::runtime

// Gathers and running sums.
#include "test/runtime/device/ConformanceSuite.h"

#include <cmath>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(IndexCall);

struct Case {
  std::vector<int64_t> data;
  int64_t axis;
  std::vector<int64_t> indices;
};
const Case gathers[] = {{{7}, 0, {}},           {{7}, 0, {20}},
                        {{5, 6, 4}, 1, {2, 3}}, {{5, 6, 4}, 0, {3}},
                        {{5, 6, 4}, 2, {9}},    {{5, 6, 4}, 2, {}},
                        {{5, 1, 4}, 1, {2}},    {{5, 6}, 1, {0}},
                        {{0, 6}, 1, {2}},       {{2, 3, 700}, 1, {4}}};

std::vector<int64_t> gatheredShape(const Case &of) {
  std::vector<int64_t> shape(of.data.begin(), of.data.begin() + of.axis);
  shape.insert(shape.end(), of.indices.begin(), of.indices.end());
  shape.insert(shape.end(), of.data.begin() + of.axis + 1, of.data.end());
  return shape;
}
/// For element `at` of what is gathered: the element of the data.
int64_t sourceOf(const Case &of, const Numbers &indices, int64_t at) {
  int64_t inner = 1, size = of.data[of.axis];
  for (size_t dim = of.axis + 1; dim < of.data.size(); ++dim)
    inner *= of.data[dim];
  auto index = int64_t(indices[at / inner % indices.elements()]);
  index += index < 0 ? size : 0;
  return (at / inner / indices.elements() * size + index) * inner + at % inner;
}
/// From the end where negative.
Numbers indicesOf(const Case &of, plan::DType dtype) {
  int64_t size = of.data[of.axis];
  return Numbers::integers(dtype, of.indices, 3, -size, size - 1);
}

TEST_P(IndexCallConformance, GatherTakesSlices) {
  for (const Case &of : gathers)
    for (plan::DType dtype :
         {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16, plan::FLOAT16,
          plan::INT64, plan::INT32, plan::BOOL})
      for (plan::DType indexType : {plan::INT64, plan::INT32})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - gathers << ", " << plan::DType_Name(dtype));
          Numbers data = Numbers::integers(dtype, of.data, 1, 0, 200),
                  indices = indicesOf(of, indexType);
          Tensor result = bench.room(dtype, gatheredShape(of));
          bench.run(entry::IndexCall{"gather",
                                     {bench.put(data), bench.put(indices)},
                                     {result},
                                     {{"axis", of.axis}}});
          std::vector<double> expected(result.elements());
          for (size_t i = 0; i < expected.size(); ++i)
            expected[i] = data[sourceOf(of, indices, int64_t(i))];
          bench.expect(result, Expected(expected), "result");
        });
}

TEST_P(IndexCallConformance, GatherGradAddsSlices) {
  for (const Case &of : gathers)
    for (plan::DType dtype : floatTypes)
      for (bool wide : {false, true})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - gathers << ", " << plan::DType_Name(dtype));
          Numbers gradient = Numbers::random(dtype, gatheredShape(of), 1),
                  indices = indicesOf(of, plan::INT64);
          Tensor result = bench.room(wide ? sumType(dtype) : dtype, of.data);
          bench.run(entry::IndexCall{"gather_grad",
                                     {bench.put(gradient), bench.put(indices)},
                                     {result},
                                     {{"axis", of.axis}}});
          Expected expected(countOf(of.data));
          for (int64_t i = 0; i < gradient.elements(); ++i)
            expected.add(sourceOf(of, indices, i), gradient[i],
                         double(indices.elements()) * sumRoundoff(dtype) *
                             std::fabs(gradient[i]));
          bench.expect(result, expected, "result");
        });
}

struct TupleCase {
  std::vector<int64_t> data;
  int64_t batchDims;
  std::vector<int64_t> indices; // the last dim: of a tuple
};
const TupleCase tuples[] = {
    {{5, 6, 4}, 0, {7, 2}},    {{5, 6, 4}, 0, {3}},
    {{5, 6, 4}, 0, {2, 3, 1}}, {{3, 6, 4}, 1, {3, 5, 1}},
    {{3, 2, 4}, 2, {3, 2, 1}}, {{3, 6, 4}, 1, {3, 2}},
    {{4}, 0, {0, 1}},          {{2, 3}, 1, {2, 0, 1}}};

TEST_P(IndexCallConformance, GatherNdTakesTuples) {
  for (const TupleCase &of : tuples)
    for (plan::DType dtype : {plan::FLOAT64, plan::FLOAT16, plan::INT32})
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message() << &of - tuples);
        int64_t depth = of.indices.back();
        std::vector<int64_t> shape(of.indices.begin(), of.indices.end() - 1);
        shape.insert(shape.end(), of.data.begin() + of.batchDims + depth,
                     of.data.end());
        Numbers data = Numbers::integers(dtype, of.data, 1, -50, 50);
        Numbers indices(plan::INT64, of.indices);
        for (int64_t i = 0; i < indices.elements(); ++i) {
          int64_t size = of.data[of.batchDims + i % depth];
          indices[i] = double((i * 5 + 3) % (2 * size) - size);
        }
        Tensor result = bench.room(dtype, shape);
        bench.run(entry::IndexCall{"gather_nd",
                                   {bench.put(data), bench.put(indices)},
                                   {result},
                                   {{"batch_dims", of.batchDims}}});
        int64_t batches = 1, run = 1, count = indices.elements() / depth;
        for (int64_t dim = 0; dim < of.batchDims; ++dim)
          batches *= of.data[dim];
        for (size_t dim = of.batchDims + depth; dim < of.data.size(); ++dim)
          run *= of.data[dim];
        std::vector<double> expected(result.elements());
        for (int64_t tuple = 0; tuple < count; ++tuple) {
          int64_t at = tuple / (count / batches);
          for (int64_t part = 0; part < depth; ++part) {
            int64_t size = of.data[of.batchDims + part];
            auto index = int64_t(indices[tuple * depth + part]);
            at = at * size + (index < 0 ? index + size : index);
          }
          for (int64_t i = 0; i < run; ++i)
            expected[tuple * run + i] = data[at * run + i];
        }
        bench.expect(result, Expected(expected), "result");
      });
}

TEST_P(IndexCallConformance, CumsumAddsAlongAnAxis) {
  for (plan::DType dtype : {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16,
                            plan::FLOAT16, plan::INT64, plan::INT32})
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{1}, {300}, {4, 5, 6}, {3, 0}, {2, 1, 3}})
      for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
        for (int setting = 0; setting < 4; ++setting)
          onDevice([&](Bench &bench) {
            SCOPED_TRACE(testing::Message()
                         << plan::DType_Name(dtype) << ", axis " << axis
                         << " of " << shape.size() << ", setting " << setting);
            bool exclusive = setting % 2, reverse = setting / 2,
                 integer = dtype == plan::INT64 || dtype == plan::INT32;
            Numbers data = integer
                               ? Numbers::integers(dtype, shape, 1, -1000, 1000)
                               : Numbers::random(dtype, shape, 1);
            Tensor result = bench.room(dtype, shape);
            bench.run(entry::IndexCall{"cumsum",
                                       {bench.put(data)},
                                       {result},
                                       {{"axis", axis},
                                        {"exclusive", exclusive},
                                        {"reverse", reverse}}});
            Expected expected(data.elements());
            int64_t inner = 1, size = shape[axis];
            for (size_t dim = axis + 1; dim < shape.size(); ++dim)
              inner *= shape[dim];
            for (int64_t i = 0; i < data.elements(); ++i)
              for (int64_t step = 0; step < size; ++step) {
                int64_t own = i / inner % size;
                if (reverse ? step < own : step > own)
                  continue;
                if (exclusive && step == own)
                  continue;
                double term = data[i + (step - own) * inner];
                expected.add(i, term,
                             integer ? 0
                                     : double(size) * sumRoundoff(dtype) *
                                           std::fabs(term));
              }
            if (integer)
              expected = Expected(expected.values);
            bench.expect(result, expected, "result");
          });
}

TEST_P(IndexCallConformance, IntegersWrapAround) {
  onDevice([&](Bench &bench) {
    Tensor result = bench.room(plan::INT32, {3});
    bench.run(entry::IndexCall{
        "cumsum",
        {bench.put(Numbers(plan::INT32, {3}, {2147483647, 1, 5}))},
        {result},
        {{"axis", 0}}});
    bench.expect(
        result,
        Expected(std::vector<double>{2147483647, -2147483648.0, -2147483643.0}),
        "result");
  });
}

TEST_P(IndexCallConformance, AnIndexOutsideTheAxisIsAnError) {
  for (double wrong : {4.0, -5.0})
    for (const char *function : {"gather", "gather_nd", "gather_grad"})
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(function);
        bool isGrad = std::string(function) == "gather_grad",
             isTuples = std::string(function) == "gather_nd";
        Numbers indices(plan::INT64,
                        isTuples ? std::vector<int64_t>{3, 1}
                                 : std::vector<int64_t>{3},
                        {1, wrong, 2});
        Tensor data = bench.put(Numbers(plan::FLOAT32, {isGrad ? 3 : 4})),
               result = bench.room(plan::FLOAT32, {isGrad ? 4 : 3});
        std::string error = bench.errorOf({entry::IndexCall{
            function, {data, bench.put(indices)}, {result}, {{"axis", 0}}}});
        EXPECT_EQ(error.find("entry 0: "), 0u) << error;
        EXPECT_NE(error.find(" position 1 "), std::string::npos) << error;
      });
}

TEST_P(IndexCallConformance, WhatADeviceLacksIsAnErrorBeforeItRuns) {
  onDevice([&](Bench &bench) {
    Tensor data = bench.put(Numbers(plan::FLOAT32, {4}));
    EXPECT_NE(bench.errorOf({entry::IndexCall{"nonesuch", {data}, {data}, {}}}),
              "");
  });
}

} // namespace
} // namespace shardc::runtime

// Launches, copies, fills and embeddings.
#include "test/runtime/device/ConformanceSuite.h"

#include <cmath>

namespace shardc::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(Launch);

TEST_P(LaunchConformance, RunsAKernelOverAllItsPieces) {
  onDevice([&](Bench &bench) {
    constexpr int64_t count = TestKernel::elements;
    Numbers x = Numbers::random(plan::FLOAT32, {count}, 1),
            y = Numbers::random(plan::FLOAT32, {count}, 2);
    Tensor z = bench.room(plan::FLOAT32, {count});
    bench.run(entry::Launch{
        TestKernel::ScaleAndAdd, {bench.put(x), bench.put(y)}, {z}});
    Expected expected(count);
    for (int64_t i = 0; i < count; ++i)
      expected.values[i] = 2 * x[i] + y[i];
    bench.expect(z, expected, "z");
  });
}

TEST_P(LaunchConformance, FewPiecesMayBeLarge) {
  onDevice([&](Bench &bench) {
    constexpr int64_t rows = TestKernel::rows, columns = TestKernel::columns;
    Numbers x = Numbers::random(plan::FLOAT32, {rows, columns}, 1);
    Tensor sums = bench.room(plan::FLOAT64, {rows});
    bench.run(entry::Launch{TestKernel::RowSums, {bench.put(x)}, {sums}});
    Expected expected(rows);
    for (int64_t i = 0; i < rows * columns; ++i)
      expected.add(i / columns, x[i],
                   columns * roundoff(plan::FLOAT64) * std::fabs(x[i]));
    bench.expect(sums, expected, "sums");
  });
}

TEST_P(LaunchConformance, AnOutputMayBeAnInputsBytes) {
  onDevice([&](Bench &bench) {
    constexpr int64_t count = TestKernel::elements;
    Numbers values = Numbers::integers(plan::INT32, {count}, 1, -1000, 1000);
    Tensor tensor = bench.put(values);
    entry::Launch launch{TestKernel::Increment, {tensor}, {tensor}};
    bench.run(launch);
    bench.run(launch);
    for (double &value : values.values)
      value += 2;
    bench.expect(tensor, Expected(values.values), "values");
  });
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

SHARDC_CONFORMANCE(Copy);

constexpr plan::DType allTypes[] = {
    plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16, plan::FLOAT16,
    plan::INT64,   plan::INT32,   plan::BOOL,     plan::UINT8};

struct CopyCase {
  std::vector<int64_t> shape;
  Layout from = {}, to = {};
};

TEST_P(CopyConformance, MovesElementsBetweenAnyLayouts) {
  const std::vector<int64_t> cube = {5, 17, 33}, matrix = {40, 70};
  const CopyCase cases[] = {
      {{}},
      {{0}},
      {{3, 0, 2}},
      {{1}},
      {{1, 1, 1}},
      {{70001}},
      {{70001}, {}, {{2}, 0}},
      {{70001}, {{3}, 2}, {}},
      {matrix, permuted(matrix, {1, 0}), {}},
      {matrix, {}, permuted(matrix, {1, 0})},
      {{64, 48}, permuted({64, 48}, {1, 0}), {}},
      {matrix, spaced(matrix, 5), spaced(matrix, 2)},
      {matrix, {{0, 1}, 0}, {}}, // a row for all
      {matrix, {{1, 0}, 0}, {}}, // a column for all
      {matrix, {{0, 0}, 1}, {}}, // an element for all
      {cube, permuted(cube, {2, 0, 1}), permuted(cube, {1, 2, 0})},
      {cube, permuted(cube, {0, 2, 1}), spaced(cube, 1)},
      {{2, 3, 1, 5, 4},
       permuted({2, 3, 1, 5, 4}, {4, 1, 0, 3, 2}),
       permuted({2, 3, 1, 5, 4}, {3, 2, 1, 0, 4})}};
  for (const CopyCase &of : cases)
    for (plan::DType dtype : allTypes)
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << &of - cases << ", " << plan::DType_Name(dtype));
        Tensor from =
            bench.put(Numbers::integers(dtype, of.shape, 1, 0, 100), of.from);
        Tensor to = bench.room(dtype, of.shape, of.to);
        bench.run(entry::Copy{from, to});
        EXPECT_EQ(bench.bytesOf(to), bench.bytesOf(from));
      });
}

/// All bits of what is no number, and of zeros with a sign.
TEST_P(CopyConformance, KeepsEveryBit) {
  onDevice([&](Bench &bench) {
    Tensor from = bench.room(plan::FLOAT32, {1 << 16});
    std::vector<uint32_t> bits(1 << 16);
    for (uint32_t i = 0; i < bits.size(); ++i)
      bits[i] = i << 16 | (i * 31 & 0xFFFF);
    bench.device->upload(from.data, bits.data(),
                         int64_t(bits.size() * sizeof(uint32_t)));
    bench.readBack();
    for (plan::DType dtype : {plan::FLOAT32, plan::FLOAT16, plan::BFLOAT16}) {
      Tensor source = from;
      source.dtype = dtype;
      if (isNarrow(dtype))
        source.shape = {1 << 17};
      Tensor to = bench.room(dtype, source.shape);
      bench.run(entry::Copy{source, to});
      EXPECT_TRUE(bench.bytesOf(to) == bench.bytesOf(source));
    }
  });
}

SHARDC_CONFORMANCE(Fill);

TEST_P(FillConformance, WritesTheValueInItsType) {
  const std::vector<int64_t> shape = {3, 35};
  for (plan::DType dtype : allTypes)
    for (const Layout &layout :
         {Layout(), spaced(shape, 4), permuted(shape, {1, 0})}) {
      bool isFloat = sizeOf(dtype) == 8   ? dtype == plan::FLOAT64
                     : sizeOf(dtype) == 4 ? dtype == plan::FLOAT32
                                          : isNarrow(dtype);
      std::vector<double> values = {0, 1};
      if (isFloat)
        // A tie of bfloat16, and what float16 makes infinite.
        for (double value : {-2.5, 1.0 / 3, 1.001953125, 1.00390625, 1e-7, 7e4,
                             -1e300, double(INFINITY), double(NAN)})
          values.push_back(value);
      else if (sizeOf(dtype) > 1)
        for (double value : {-3.0, 2147483647.0, -2147483648.0})
          values.push_back(value);
      for (double value : values)
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << plan::DType_Name(dtype) << " " << value);
          Tensor to = bench.room(dtype, shape, layout);
          bench.run(entry::Fill{to, value});
          bench.expect(
              to, Expected(std::vector<double>(105, rounded(value, dtype))),
              "destination");
        });
    }
}

TEST_P(FillConformance, TakesNoElementsAndMany) {
  for (int64_t count : {0, 1, 100003})
    onDevice([&](Bench &bench) {
      Tensor to = bench.room(plan::BFLOAT16, {count});
      bench.run(entry::Fill{to, -0.5});
      bench.expect(to, Expected(std::vector<double>(count, -0.5)),
                   "destination");
    });
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

struct EmbeddingCase {
  int64_t rows, width;
  std::vector<int64_t> ids; // shape
  bool spaced = false;      // rows of table and values lie apart
};
const EmbeddingCase embeddings[] = {
    {1, 1, {}},          {7, 5, {3}},      {50, 33, {4, 9}, true},
    {6, 129, {2, 3, 5}}, {4, 700, {1, 1}}, {3, 8, {0}},
    {3, 8, {2, 0, 5}},   {3, 0, {4}},      {900, 3, {2000}, true}};

std::vector<int64_t> valuesShape(const EmbeddingCase &of) {
  std::vector<int64_t> shape = of.ids;
  shape.push_back(of.width);
  return shape;
}
Layout layoutOf(const EmbeddingCase &of, const std::vector<int64_t> &shape) {
  return of.spaced ? spaced(shape, 7) : Layout();
}
/// Many are equal; the first and the last of the table's rows are there.
Numbers idsOf(const EmbeddingCase &of, plan::DType dtype) {
  Numbers ids = Numbers::integers(dtype, of.ids, 5, 0, of.rows - 1);
  if (ids.elements() > 2) {
    ids[0] = double(of.rows - 1);
    ids[1] = 0;
  }
  return ids;
}

SHARDC_CONFORMANCE(Embedding);

TEST_P(EmbeddingConformance, CopiesRows) {
  for (const EmbeddingCase &of : embeddings)
    for (plan::DType dtype : floatTypes)
      for (plan::DType idType : {plan::INT64, plan::INT32})
        onDevice([&](Bench &bench) {
          SCOPED_TRACE(testing::Message()
                       << &of - embeddings << ", " << plan::DType_Name(dtype));
          Numbers table = Numbers::random(dtype, {of.rows, of.width}, 1);
          Numbers ids = idsOf(of, idType);
          // Ids whose dims lie the other way round.
          std::vector<int64_t> order;
          for (size_t dim = of.ids.size(); dim-- > 0;)
            order.push_back(int64_t(dim));
          Tensor output =
              bench.room(dtype, valuesShape(of), layoutOf(of, valuesShape(of)));
          bench.run(entry::Embedding{
              bench.put(table, layoutOf(of, table.shape)),
              bench.put(ids, permuted(of.ids, order)), output});
          Expected expected(std::vector<double>(ids.elements() * of.width));
          for (int64_t i = 0; i < ids.elements() * of.width; ++i)
            expected.values[i] =
                table[int64_t(ids[i / of.width]) * of.width + i % of.width];
          bench.expect(output, expected, "output");
        });
}

TEST_P(EmbeddingConformance, AnIdOutsideTheTableIsAnError) {
  for (double wrong : {-1.0, 6.0, 1e12})
    onDevice([&](Bench &bench) {
      std::string error = bench.errorOf(
          {entry::Embedding{bench.put(Numbers(plan::FLOAT32, {6, 4})),
                            bench.put(Numbers(plan::INT64, {3}, {1, wrong, 2})),
                            bench.room(plan::FLOAT32, {3, 4})}});
      EXPECT_EQ(error.find("entry 0: "), 0u) << error;
      EXPECT_NE(error.find(" position 1 "), std::string::npos) << error;
    });
}

SHARDC_CONFORMANCE(EmbeddingGrad);

TEST_P(EmbeddingGradConformance, AddsRows) {
  for (const EmbeddingCase &of : embeddings)
    for (plan::DType dtype : floatTypes)
      for (int setting = 0; setting < (isNarrow(dtype) ? 4 : 2); ++setting)
        onDevice([&](Bench &bench) {
          bool accumulate = setting % 2, wide = setting / 2;
          SCOPED_TRACE(testing::Message()
                       << &of - embeddings << ", " << plan::DType_Name(dtype)
                       << (accumulate ? ", accumulated" : "")
                       << (wide ? ", wide" : ""));
          plan::DType tableType = wide ? plan::FLOAT32 : dtype;
          Numbers gradient = Numbers::random(dtype, valuesShape(of), 1),
                  before = Numbers::random(tableType, {of.rows, of.width}, 2),
                  ids = idsOf(of, setting ? plan::INT32 : plan::INT64);
          Layout layout = layoutOf(of, before.shape);
          Tensor table = accumulate
                             ? bench.put(before, layout)
                             : bench.room(tableType, before.shape, layout);
          bench.run(entry::EmbeddingGrad{
              bench.put(gradient, layoutOf(of, gradient.shape)), bench.put(ids),
              table, accumulate});
          Expected expected(before.elements());
          double error = double(ids.elements() + 1) * sumRoundoff(dtype);
          for (int64_t i = 0; accumulate && i < before.elements(); ++i)
            expected.add(i, before[i], error * std::fabs(before[i]));
          for (int64_t i = 0; i < gradient.elements(); ++i)
            expected.add(int64_t(ids[i / of.width]) * of.width + i % of.width,
                         gradient[i], error * std::fabs(gradient[i]));
          bench.expect(table, expected, "table_gradient");
        });
}

/// To the bit, as sums over ranks demand: parts of float32 that rounding tells
/// apart, over micro-batches.
TEST_P(EmbeddingGradConformance, AddsPartsOneByOne) {
  constexpr int64_t parts = 3, rows = 40, width = 9, microBatches = 2;
  for (plan::DType dtype : {plan::FLOAT32, plan::BFLOAT16})
    for (int64_t positions : {0, 1, 70, 700})
      onDevice([&](Bench &bench) {
        SCOPED_TRACE(testing::Message()
                     << plan::DType_Name(dtype) << ", " << positions);
        Numbers gradient =
            Numbers::random(dtype, {parts * positions, width}, 1);
        Numbers ids =
            Numbers::integers(plan::INT64, {parts * positions}, 5, 0, rows - 1);
        Tensor table = bench.room(plan::FLOAT32, {rows, width});
        entry::EmbeddingGrad add{
            bench.put(gradient), bench.put(ids), table, false, parts, true};
        std::vector<float> sums(rows * width);
        StepNumbers numbers;
        numbers.microBatches = microBatches;
        for (; numbers.microBatch < microBatches; ++numbers.microBatch) {
          bench.run(add, numbers);
          for (int64_t part = 0; part < parts; ++part) {
            std::vector<float> own(rows * width);
            for (int64_t i = part * positions; i < (part + 1) * positions; ++i)
              for (int64_t column = 0; column < width; ++column)
                own[int64_t(ids[i]) * width + column] +=
                    float(gradient[i * width + column]);
            for (size_t i = 0; i < sums.size(); ++i)
              sums[i] += own[i];
          }
        }
        bench.expect(table,
                     Expected(std::vector<double>(sums.begin(), sums.end())),
                     "table_gradient");
      });
}

TEST_P(EmbeddingGradConformance, AnIdOutsideTheTableIsAnError) {
  for (plan::DType dtype : {plan::FLOAT32, plan::BFLOAT16})
    onDevice([&](Bench &bench) {
      std::string error = bench.errorOf(
          {entry::EmbeddingGrad{bench.put(Numbers(dtype, {3, 4})),
                                bench.put(Numbers(plan::INT32, {3}, {1, 0, 2})),
                                bench.room(dtype, {2, 4}), false}});
      EXPECT_EQ(error.find("entry 0: "), 0u) << error;
      EXPECT_NE(error.find(" position 2 "), std::string::npos) << error;
    });
}

} // namespace
} // namespace shardc::runtime

// Reads and sums at positions known at run time, and running sums, beside the
// processor's: equal bytes.
#include "RunMoves.h"
#include "runtime/cpu/moves/Indexing.h"

#include <gtest/gtest.h>
#include <random>

using namespace shardc::runtime;
using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

constexpr plan::DType floats[] = {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16,
                                  plan::FLOAT16};

struct RowCase {
  int64_t rows, width;
  std::vector<int64_t> ids; // shape
  int64_t gap = 0;
  bool turned = false; // the ids' dims lie the other way round
};
const RowCase rowCases[] = {{1, 1, {}},        {7, 5, {3}},
                            {50, 33, {4, 9}},  {50, 32, {4, 9}, 0, true},
                            {4, 700, {70, 1}}, {3, 0, {4}},
                            {3, 8, {2, 0, 5}}, {60, 24, {5, 7, 4}, 8, true},
                            {40, 3, {300}, 7}, {5, 1100, {40}}};

std::vector<int64_t> spaced(const std::vector<int64_t> &shape, int64_t gap) {
  std::vector<int64_t> strides = rowMajorStrides(shape);
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    strides[dim] += gap * (strides[dim] / std::max<int64_t>(1, shape.back()));
  return strides;
}
std::vector<int64_t> valuesShape(const RowCase &of) {
  std::vector<int64_t> shape = of.ids;
  shape.push_back(of.width);
  return shape;
}
Room idsOf(const RowCase &of, plan::DType dtype, unsigned seed) {
  std::vector<int64_t> strides;
  if (of.turned) {
    int64_t stride = 1;
    for (int64_t size : of.ids) {
      strides.push_back(stride);
      stride *= size;
    }
  }
  Room room(dtype, of.ids, strides);
  room.fillWithIntegers(seed, 0, of.rows - 1);
  return room;
}

TEST(IndexingKernels, EmbeddingsCopyRows) {
  std::set<std::string> ran;
  for (const RowCase &of : rowCases)
    for (plan::DType dtype :
         {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16, plan::INT8})
      for (plan::DType idType : {plan::INT64, plan::INT32}) {
        SCOPED_TRACE(&of - rowCases);
        std::vector<int64_t> shape = {of.rows, of.width};
        Room table(dtype, shape, spaced(shape, of.gap)),
            ids = idsOf(of, idType, 1);
        table.fillWithBits(2);
        compareMoves(
            Room(dtype, valuesShape(of), spaced(valuesShape(of), of.gap)),
            [&](const Tensor &output) {
              return movesOf(
                  entry::Embedding{table.tensor, ids.tensor, output});
            },
            [&](const Tensor &output) {
              cpu::embedding(table.tensor, ids.tensor, output, testPool());
            },
            ran);
      }
  for (const char *kernel :
       {"gather1", "gather2", "gather4", "gather8", "gather16"})
    EXPECT_EQ(ran.count(kernel), 1u) << kernel;
}

void compareEmbeddingGrad(const RowCase &of, plan::DType dtype,
                          plan::DType tableType, const Room &ids,
                          bool accumulate, std::set<std::string> &ran) {
  std::vector<int64_t> shape = {of.rows, of.width};
  Room gradient(dtype, valuesShape(of), spaced(valuesShape(of), of.gap)),
      table(tableType, shape, spaced(shape, of.gap));
  gradient.fillWithNumbers(3);
  table.fillWithNumbers(4);
  compareMoves(
      table,
      [&](const Tensor &output) {
        return movesOf(entry::EmbeddingGrad{gradient.tensor, ids.tensor, output,
                                            accumulate});
      },
      [&](const Tensor &output) {
        cpu::embeddingGrad(gradient.tensor, ids.tensor, output, testPool(),
                           accumulate);
      },
      ran);
}

TEST(IndexingKernels, EmbeddingGradsAddInOrder) {
  std::set<std::string> ran;
  for (const RowCase &of : rowCases)
    for (plan::DType dtype : floats)
      for (bool accumulate : {false, true})
        for (bool wide : {false, true}) {
          bool isHalf = dtype == plan::BFLOAT16 || dtype == plan::FLOAT16;
          if (wide && !isHalf)
            continue;
          SCOPED_TRACE(&of - rowCases);
          compareEmbeddingGrad(of, dtype, wide ? plan::FLOAT32 : dtype,
                               idsOf(of, wide ? plan::INT32 : plan::INT64, 5),
                               accumulate, ran);
        }
  for (const char *kernel :
       {"add_rows_f64_f64", "add_rows_f32_f32", "add_rows_bf16_bf16",
        "add_rows_bf16_f32", "add_rows_f16_f16", "add_rows_f16_f32"})
    EXPECT_EQ(ran.count(kernel), 1u) << kernel;
}

/// Lists that have to be added before all is looked at, groups of more rows than
/// are summed at a time, and ids that are equal modulo the table of hashes.
TEST(IndexingKernels, EmbeddingGradsOfManyIds) {
  std::set<std::string> ran;
  RowCase many{9000, 2, {3000}};
  std::mt19937 random(6);
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    Room ids(plan::INT64, many.ids);
    for (int64_t i = 0; i < 3000; ++i)
      ids.tensor.as<int64_t>()[i] =
          kind == 0   ? 7
          : kind == 1 ? i
          : kind == 2 ? random() % 4 * 2048 + i % 2
                      : std::min<unsigned>(random() % 9000, random() % 9000) %
                            (1 + random() % 9000);
    for (plan::DType dtype : {plan::BFLOAT16, plan::FLOAT32})
      compareEmbeddingGrad(many, dtype, dtype, ids, kind % 2, ran);
  }
}

struct GatherCase {
  std::vector<int64_t> data;
  int64_t axis;
  std::vector<int64_t> indices;
};
const GatherCase gathers[] = {
    {{7}, 0, {}},          {{7}, 0, {20}},      {{5, 6, 4}, 1, {2, 3}},
    {{5, 6, 4}, 0, {3}},   {{5, 6, 4}, 2, {9}}, {{5, 6, 4}, 2, {}},
    {{5, 1, 4}, 1, {2}},   {{5, 6}, 1, {0}},    {{0, 6}, 1, {2}},
    {{2, 3, 700}, 1, {4}}, {{3, 4, 16}, 1, {2}}};

std::vector<int64_t> gatheredShape(const GatherCase &of) {
  std::vector<int64_t> shape(of.data.begin(), of.data.begin() + of.axis);
  shape.insert(shape.end(), of.indices.begin(), of.indices.end());
  shape.insert(shape.end(), of.data.begin() + of.axis + 1, of.data.end());
  return shape;
}

TEST(IndexingKernels, GathersAndTheirGradients) {
  std::set<std::string> ran;
  for (const GatherCase &of : gathers)
    for (plan::DType indexType : {plan::INT64, plan::INT32}) {
      SCOPED_TRACE(&of - gathers);
      Room indices(indexType, of.indices);
      indices.fillWithIntegers(1, -of.data[of.axis], of.data[of.axis] - 1);
      for (plan::DType dtype : {plan::FLOAT64, plan::BFLOAT16, plan::BOOL}) {
        Room data(dtype, of.data);
        data.fillWithBits(2);
        compareMoves(
            Room(dtype, gatheredShape(of)),
            [&](const Tensor &result) {
              return movesOf(entry::IndexCall{"gather",
                                              {data.tensor, indices.tensor},
                                              {result},
                                              {{"axis", of.axis}}});
            },
            [&](const Tensor &result) {
              cpu::gather(data.tensor, indices.tensor, result, of.axis);
            },
            ran);
      }
      for (plan::DType dtype : floats)
        for (bool wide : {false, true}) {
          if (wide && (dtype == plan::FLOAT64 || dtype == plan::FLOAT32))
            continue;
          Room gradient(dtype, gatheredShape(of));
          gradient.fillWithNumbers(3);
          compareMoves(
              Room(wide ? plan::FLOAT32 : dtype, of.data),
              [&](const Tensor &result) {
                return movesOf(
                    entry::IndexCall{"gather_grad",
                                     {gradient.tensor, indices.tensor},
                                     {result},
                                     {{"axis", of.axis}}});
              },
              [&](const Tensor &result) {
                cpu::gatherGrad(gradient.tensor, indices.tensor, result,
                                of.axis);
              },
              ran);
        }
    }
}

/// The first one is named, and the others are done.
TEST(IndexingKernels, IndicesOutsideAreNoted) {
  std::set<std::string> ran;
  Room ids(plan::INT64, {5}), data(plan::FLOAT32, {4, 3}),
      rows(plan::FLOAT32, {5, 3});
  auto *id = ids.tensor.as<int64_t>();
  id[0] = 1, id[1] = -5, id[2] = 3, id[3] = int64_t(1) << 40, id[4] = 3;
  data.fillWithNumbers(1), rows.fillWithNumbers(2);
  const char *wrong = "index -5 at position 1 is outside [-4, 4)";
  auto call = [&](const char *function, const Room &from, const Room &to) {
    return movesOf(entry::IndexCall{
        function, {from.tensor, ids.tensor}, {to.tensor}, {{"axis", 0}}});
  };
  for (Runs how : {Runs::Host, Runs::Ptx}) {
    Room result = rows, table = data;
    EXPECT_EQ(runMoves(call("gather", data, result), how, ran), wrong);
    for (int row : {0, 2, 4})
      EXPECT_EQ(result.tensor.as<float>()[row * 3 + 1],
                data.tensor.as<float>()[id[row] * 3 + 1]);
    EXPECT_EQ(runMoves(call("gather_grad", rows, table), how, ran), wrong);
    EXPECT_EQ(table.tensor.as<float>()[3 * 3],
              rows.tensor.as<float>()[2 * 3] + rows.tensor.as<float>()[4 * 3]);
    EXPECT_EQ(runMoves(movesOf(entry::Embedding{data.tensor, ids.tensor,
                                                result.tensor}),
                       how, ran),
              "id -5 at position 1 is outside the table's [0, 4)");
    EXPECT_EQ(runMoves(movesOf(entry::EmbeddingGrad{rows.tensor, ids.tensor,
                                                    table.tensor, true}),
                       how, ran),
              "id -5 at position 1 is outside the table's [0, 4)");
    ids.tensor.shape = {5, 1}, ids.tensor.strides = {1, 1};
    EXPECT_EQ(runMoves(call("gather_nd", data, result), how, ran), wrong);
    ids.tensor.shape = {5}, ids.tensor.strides = {1};
  }
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

TEST(IndexingKernels, GatherNdTakesTuples) {
  std::set<std::string> ran;
  for (const TupleCase &of : tuples)
    for (plan::DType dtype :
         {plan::FLOAT64, plan::FLOAT32, plan::FLOAT16, plan::UINT8}) {
      SCOPED_TRACE(&of - tuples);
      int64_t depth = of.indices.back();
      std::vector<int64_t> shape(of.indices.begin(), of.indices.end() - 1);
      shape.insert(shape.end(), of.data.begin() + of.batchDims + depth,
                   of.data.end());
      Room data(dtype, of.data), indices(plan::INT64, of.indices);
      data.fillWithBits(1);
      for (int64_t i = 0; i < indices.tensor.elements(); ++i) {
        int64_t size = of.data[of.batchDims + i % depth];
        indices.tensor.as<int64_t>()[i] = (i * 5 + 3) % (2 * size) - size;
      }
      compareMoves(
          Room(dtype, shape),
          [&](const Tensor &result) {
            return movesOf(entry::IndexCall{"gather_nd",
                                            {data.tensor, indices.tensor},
                                            {result},
                                            {{"batch_dims", of.batchDims}}});
          },
          [&](const Tensor &result) {
            cpu::gatherNd(data.tensor, indices.tensor, result, of.batchDims);
          },
          ran);
    }
  EXPECT_GE(ran.size(), 4u);
}

TEST(IndexingKernels, CumsumAddsAlongAnAxis) {
  std::set<std::string> ran;
  for (plan::DType dtype : {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16,
                            plan::FLOAT16, plan::INT64, plan::INT32})
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{1},
                                              {2300},
                                              {4, 5, 6},
                                              {3, 0},
                                              {2, 1, 3},
                                              {300, 3},
                                              {9000, 1}})
      for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
        for (int setting = 0; setting < 4; ++setting) {
          SCOPED_TRACE(setting);
          Room data(dtype, shape);
          if (dtype == plan::INT64 || dtype == plan::INT32)
            data.fillWithBits(1);
          else
            data.fillWithNumbers(1);
          bool exclusive = setting % 2, reverse = setting / 2;
          compareMoves(
              Room(dtype, shape),
              [&](const Tensor &result) {
                return movesOf(entry::IndexCall{"cumsum",
                                                {data.tensor},
                                                {result},
                                                {{"axis", axis},
                                                 {"exclusive", exclusive},
                                                 {"reverse", reverse}}});
              },
              [&](const Tensor &result) {
                cpu::cumsum(data.tensor, result, axis, exclusive, reverse);
              },
              ran);
        }
  EXPECT_EQ(ran.size(), 12u);
}

} // namespace
} // namespace shardc::test

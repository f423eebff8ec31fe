// Products that are two, computed by plain loops: together they are the one.
#include "runtime/cuda/products/SplitProduct.h"
#include "test/runtime/device/Numbers.h"

#include "gtest/gtest.h"

#include <memory>
#include <vector>

namespace shardc::runtime::cuda {
namespace {

constexpr plan::DType half = plan::BFLOAT16;

/// Small integers, so that sums are exact in any order, in rows that begin at
/// multiples of 16 bytes.
class Problem {
public:
  entry::Gemm gemm;

  Problem(int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB,
          plan::DType output = half) {
    gemm.transposeA = transposeA, gemm.transposeB = transposeB;
    gemm.a = matrix(half, m, k, transposeA);
    gemm.b = matrix(half, k, n, transposeB);
    gemm.c = matrix(output, m, n, false);
  }
  void addResidual() {
    gemm.residual =
        matrix(gemm.c.tensor.dtype, gemm.c.rows, gemm.c.columns, false);
  }
  void addBias() {
    entry::Matrix row = matrix(gemm.c.tensor.dtype, 1, gemm.c.columns, false);
    gemm.bias = row.tensor;
    gemm.bias.shape = {gemm.c.columns}, gemm.bias.strides = {1};
  }

  /// Sets c, by each product in turn.
  std::vector<double> compute(const std::vector<entry::Gemm> &products) {
    fill(gemm.c, false, 1);
    for (const entry::Gemm &product : products)
      run(product);
    std::vector<double> values;
    for (int64_t i = 0; i < gemm.c.rows; ++i)
      for (int64_t j = 0; j < gemm.c.columns; ++j)
        values.push_back(at(gemm.c, false, i, j));
    return values;
  }

private:
  entry::Matrix matrix(plan::DType dtype, int64_t rows, int64_t columns,
                       bool isTransposed) {
    entry::Matrix made;
    made.rows = rows, made.columns = columns;
    made.stride = ((isTransposed ? rows : columns) + 15) / 8 * 8;
    int64_t elements = made.stride * (isTransposed ? columns : rows);
    // new aligns to 16 bytes.
    memory.emplace_back(new std::byte[elements * sizeOf(dtype)]);
    made.tensor.dtype = dtype;
    made.tensor.data = memory.back().get();
    made.tensor.shape = {rows, columns};
    made.tensor.strides = {made.stride, 1};
    fill(made, isTransposed, int64_t(memory.size()) + 3);
    return made;
  }
  static std::byte *place(const entry::Matrix &matrix, bool isTransposed,
                          int64_t i, int64_t j) {
    int64_t position =
        isTransposed ? j * matrix.stride + i : i * matrix.stride + j;
    return matrix.tensor.data + position * sizeOf(matrix.tensor.dtype);
  }
  static double at(const entry::Matrix &matrix, bool isTransposed, int64_t i,
                   int64_t j) {
    return decode(place(matrix, isTransposed, i, j), matrix.tensor.dtype);
  }
  static void fill(const entry::Matrix &matrix, bool isTransposed,
                   int64_t seed) {
    for (int64_t i = 0; i < matrix.rows; ++i)
      for (int64_t j = 0; j < matrix.columns; ++j)
        encode(double((i * 7 + j * 3 + seed * i * j) % 5 - 2),
               matrix.tensor.dtype, place(matrix, isTransposed, i, j));
  }
  static void run(const entry::Gemm &of) {
    for (int64_t i = 0; i < of.c.rows; ++i)
      for (int64_t j = 0; j < of.c.columns; ++j) {
        double sum = of.accumulate ? at(of.c, false, i, j) : 0;
        if (of.residual.tensor)
          sum += at(of.residual, false, i, j);
        if (of.bias)
          sum +=
              decode(of.bias.data + j * sizeOf(of.bias.dtype), of.bias.dtype);
        for (int64_t l = 0; l < of.a.columns; ++l)
          sum += at(of.a, of.transposeA, i, l) * at(of.b, of.transposeB, l, j);
        encode(sum, of.c.tensor.dtype, place(of.c, false, i, j));
      }
  }
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

using Split = std::optional<std::pair<entry::Gemm, entry::Gemm>>;

void expectSame(Problem &problem, const Split &parts) {
  ASSERT_TRUE(parts);
  EXPECT_EQ(problem.compute({parts->first, parts->second}),
            problem.compute({problem.gemm}));
}

TEST(SplitProduct, OfOutputs) {
  for (bool transposeB : {false, true})
    for (plan::DType output : {half, plan::FLOAT32}) {
      Problem problem(5, 17, 8, false, transposeB, output);
      problem.addBias();
      problem.addResidual();
      Split parts = splitProduct(problem.gemm, 0);
      expectSame(problem, parts);
      EXPECT_EQ(parts->first.c.columns, 16);
      EXPECT_EQ(parts->second.c.columns, 1);
      // Rows of c may be of float32, with 4 of them in 16 bytes.
      Problem four(5, 12, 8, false, true, output);
      EXPECT_EQ(bool(splitProduct(four.gemm, 0)), output == half);
    }
}

TEST(SplitProduct, OfRowsThatLieSideBySide) {
  Problem problem(27, 16, 8, true, false, plan::FLOAT32);
  problem.gemm.accumulate = true;
  Split parts = splitProduct(problem.gemm, 0);
  expectSame(problem, parts);
  EXPECT_EQ(parts->first.c.rows, 24);
  EXPECT_EQ(parts->second.c.rows, 3);
  Problem rows(27, 16, 8, false, false);
  EXPECT_FALSE(splitProduct(rows.gemm, 0));
}

TEST(SplitProduct, OfTerms) {
  for (bool transposeB : {false, true}) {
    Problem problem(5, 16, 33, false, transposeB);
    Split parts = splitProduct(problem.gemm, 0);
    expectSame(problem, parts);
    EXPECT_EQ(parts->first.a.columns, 1);
    EXPECT_TRUE(parts->second.accumulate);
    // What is added to 16 bits would be rounded once more.
    problem.addResidual();
    EXPECT_FALSE(splitProduct(problem.gemm, 0));
  }
  Problem wide(5, 16, 33, false, true, plan::FLOAT32);
  wide.addResidual();
  expectSame(wide, splitProduct(wide.gemm, 0));
  // Terms lie one row apart in both operands.
  Problem apart(16, 16, 33, true, false);
  EXPECT_FALSE(splitProduct(apart.gemm, 0));
}

TEST(SplitProduct, LeavesOthersAsTheyAre) {
  Problem problem(5, 17, 8, false, false);
  EXPECT_TRUE(splitProduct(problem.gemm, 2 * 5 * 17 * 8));
  EXPECT_FALSE(splitProduct(problem.gemm, 2 * 5 * 17 * 8 + 1));
  EXPECT_FALSE(splitProduct(problem.gemm));
  // Less than an access, rows that begin between accesses, and other types.
  EXPECT_FALSE(splitProduct(Problem(5, 3, 8, false, false).gemm, 0));
  problem.gemm.c.stride = 17;
  EXPECT_FALSE(splitProduct(problem.gemm, 0));
  Problem wide(5, 17, 8, false, false);
  wide.gemm.a.tensor.dtype = wide.gemm.b.tensor.dtype = plan::FLOAT32;
  EXPECT_FALSE(splitProduct(wide.gemm, 0));
}

} // namespace
} // namespace shardc::runtime::cuda

// Matrix products: all types, transpositions and layouts.
#include "test/runtime/device/ConformanceSuite.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(Gemm);

struct Case {
  int64_t m, n, k;
  int64_t batch = 0; // 0: 2-d
  bool spaced = false;
  bool sharedA = false, sharedB = false; // one matrix for all of the batch
};
const Case cases[] = {{1, 1, 1},
                      {7, 5, 3},
                      {1, 130, 33},
                      {129, 1, 40},
                      {33, 65, 17, 0, true},
                      {24, 64, 100},
                      {25, 70, 66, 3, true},
                      {5, 9, 8, 4, false, true},
                      {5, 9, 8, 4, false, false, true},
                      {0, 4, 3},
                      {4, 0, 3},
                      {4, 3, 0},
                      {3, 4, 5, 1, true}};

enum class With {
  Nothing,
  Bias,
  Accumulate,
  // What not all devices have.
  Residual,
  BiasAndResidual,
  BiasGradient,
  BiasGradientOfA,
};

/// Products of one setting, on a device and in float64.
struct Setting {
  Case of;
  plan::DType dtype, resultType;
  bool transposeA, transposeB;
  With with;

  int64_t batches() const { return std::max<int64_t>(of.batch, 1); }

  std::vector<int64_t> shape(int64_t rows, int64_t columns, bool shared) const {
    if (of.batch && !shared)
      return {of.batch, rows, columns};
    return {rows, columns};
  }
  Tensor put(Bench &bench, const Numbers &numbers, bool shared) const {
    Tensor tensor =
        bench.put(numbers, of.spaced ? spaced(numbers.shape, 3) : Layout());
    if (shared) {
      tensor.shape.insert(tensor.shape.begin(), of.batch);
      tensor.strides.insert(tensor.strides.begin(), 0);
    }
    return tensor;
  }
  /// As the engine describes an operand.
  static entry::Matrix matrix(const Tensor &tensor, bool transpose) {
    entry::Matrix matrix;
    matrix.tensor = tensor;
    int64_t first = tensor.rank() - 2;
    if (first) {
      matrix.batch = tensor.shape[0];
      matrix.batchStride = tensor.strides[0];
    }
    matrix.rows = tensor.shape[first + (transpose ? 1 : 0)];
    matrix.columns = tensor.shape[first + (transpose ? 0 : 1)];
    matrix.stride = tensor.shape[first] <= 1
                        ? std::max<int64_t>(tensor.shape[first + 1], 1)
                        : tensor.strides[first];
    return matrix;
  }

  /// What the bias gradient should be: sums of b's columns, or of a's rows.
  Expected biasGradient(const Numbers &a, const Numbers &b) const {
    auto [m, n, k] = std::tuple(of.m, of.n, of.k);
    bool ofA = with == With::BiasGradientOfA;
    Expected expected(ofA ? m : n);
    double error = double(k + 2) * sumRoundoff(dtype);
    for (int64_t i = 0; i < (ofA ? m : n); ++i)
      for (int64_t p = 0; p < k; ++p) {
        double term = ofA ? a[transposeA ? p * m + i : i * k + p]
                          : b[transposeB ? i * k + p : p * n + i];
        expected.add(i, term, error * std::fabs(term));
      }
    return expected;
  }

  /// `mayRound`: as TestedDevice::mayRoundProducts.
  void run(Bench &bench, bool mayRound) const {
    auto [m, n, k] = std::tuple(of.m, of.n, of.k);
    Numbers a = Numbers::random(
        dtype, transposeA ? shape(k, m, of.sharedA) : shape(m, k, of.sharedA),
        1);
    Numbers b = Numbers::random(
        dtype, transposeB ? shape(n, k, of.sharedB) : shape(k, n, of.sharedB),
        2);
    Numbers bias = Numbers::random(dtype, {n}, 3),
            before = Numbers::random(resultType, shape(m, n, false), 4);
    entry::Gemm gemm;
    gemm.transposeA = transposeA, gemm.transposeB = transposeB;
    gemm.a = matrix(put(bench, a, of.sharedA), transposeA);
    gemm.b = matrix(put(bench, b, of.sharedB), transposeB);
    bool hasBias = with == With::Bias || with == With::BiasAndResidual;
    bool hasResidual = with == With::Residual || with == With::BiasAndResidual;
    if (hasBias)
      gemm.bias = bench.put(bias);
    if (hasResidual)
      gemm.residual = matrix(put(bench, before, false), false);
    gemm.gradientOfA = with == With::BiasGradientOfA;
    if (with == With::BiasGradient || gemm.gradientOfA)
      gemm.biasGradient = bench.room(resultType, {gemm.gradientOfA ? m : n});
    gemm.accumulate = with == With::Accumulate;
    Tensor c = gemm.accumulate
                   ? put(bench, before, false)
                   : bench.room(resultType, before.shape,
                                of.spaced ? spaced(before.shape, 3) : Layout());
    gemm.c = matrix(c, false);
    bench.giveWorkspace(gemm);
    bench.run(gemm);

    Expected expected(before.elements());
    double error = double(k + 2) * sumRoundoff(dtype);
    for (int64_t batch = 0; batch < batches(); ++batch) {
      int64_t fromA = of.sharedA ? 0 : batch * m * k,
              fromB = of.sharedB ? 0 : batch * k * n;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int64_t at = (batch * m + i) * n + j;
          auto add = [&](double term) {
            expected.add(at, term, error * std::fabs(term));
          };
          for (int64_t p = 0; p < k; ++p)
            add(a[fromA + (transposeA ? p * m + i : i * k + p)] *
                b[fromB + (transposeB ? j * k + p : p * n + j)]);
          if (hasBias)
            add(bias[j]);
          if (hasResidual || with == With::Accumulate) {
            if (mayRound && isNarrow(resultType))
              expected.add(
                  at, 0, roundoff(resultType) * std::fabs(expected.values[at]));
            add(before[at]);
          }
        }
    }
    bench.expect(c, expected, "c");
    if (gemm.biasGradient)
      bench.expect(gemm.biasGradient, biasGradient(a, b), "bias_gradient");
  }
};

std::vector<With> allOf(const TestedDevice &device, const Case &of) {
  std::vector<With> all = {With::Nothing, With::Bias, With::Accumulate};
  if (!device.mergesProducts)
    return all;
  all.push_back(With::Residual), all.push_back(With::BiasAndResidual);
  if (!of.batch)
    all.push_back(With::BiasGradient), all.push_back(With::BiasGradientOfA);
  return all;
}

TEST_P(GemmConformance, IsTheProduct) {
  for (const Case &of : cases)
    for (plan::DType dtype : floatTypes)
      for (int transposed = 0; transposed < 4; ++transposed)
        for (With with : allOf(GetParam(), of)) {
          // Sums that are kept in float32.
          plan::DType results[] = {dtype, sumType(dtype)};
          for (int wide = 0; wide <= (isNarrow(dtype) ? 1 : 0); ++wide)
            onDevice([&](Bench &bench) {
              SCOPED_TRACE(testing::Message()
                           << of.batch << " of " << of.m << " x " << of.n
                           << " x " << of.k << ", " << plan::DType_Name(dtype)
                           << ", transposed " << transposed << ", with "
                           << int(with) << ", wide " << wide);
              Setting{of,
                      dtype,
                      results[wide],
                      transposed % 2 == 1,
                      transposed / 2 == 1,
                      with}
                  .run(bench, GetParam().mayRoundProducts);
            });
        }
}

/// More than a tile of the processor's.
TEST_P(GemmConformance, TakesMatricesOfSeveralTiles) {
  for (plan::DType dtype : floatTypes)
    onDevice([&](Bench &bench) {
      SCOPED_TRACE(plan::DType_Name(dtype));
      Setting{{41, 397, 523, 0, true}, dtype, dtype, false, true,
              With::Accumulate}
          .run(bench, GetParam().mayRoundProducts);
      Setting{{390, 45, 131}, dtype, dtype, true, false, With::Bias}.run(
          bench, GetParam().mayRoundProducts);
    });
}

TEST_P(GemmConformance, RefusesWhatTheDeviceDoesNotHave) {
  onDevice([&](Bench &bench) {
    entry::Gemm gemm;
    gemm.a = gemm.b = Setting::matrix(
        bench.put(Numbers::random(plan::FLOAT32, {4, 4}, 1)), false);
    gemm.c = Setting::matrix(bench.room(plan::FLOAT32, {4, 4}), false);
    if (GetParam().mergesProducts)
      return bench.run(gemm);
    gemm.residual = gemm.a;
    EXPECT_NE(bench.errorOf({gemm}).find("no residual"), std::string::npos);
    gemm.residual = {};
    gemm.biasGradient = bench.room(plan::FLOAT32, {4});
    EXPECT_NE(bench.errorOf({gemm}).find("no bias gradient"),
              std::string::npos);
    gemm.biasGradient = {};
    bench.run(gemm);
  });
}

TEST_P(GemmConformance, InfinitiesAndNoNumbersStayInTheirRowsAndColumns) {
  for (plan::DType dtype : floatTypes)
    onDevice([&](Bench &bench) {
      SCOPED_TRACE(plan::DType_Name(dtype));
      Numbers a = Numbers::random(dtype, {9, 5}, 1),
              b = Numbers::random(dtype, {5, 20}, 2);
      a[3 * 5 + 1] = INFINITY;
      a[6 * 5 + 4] = NAN;
      b[2 * 20 + 13] = -INFINITY;
      entry::Gemm gemm;
      gemm.a = Setting::matrix(bench.put(a), false);
      gemm.b = Setting::matrix(bench.put(b), false);
      Tensor c = bench.room(dtype, {9, 20});
      gemm.c = Setting::matrix(c, false);
      bench.giveWorkspace(gemm);
      bench.run(gemm);
      Expected expected(180);
      for (int64_t i = 0; i < 9; ++i)
        for (int64_t j = 0; j < 20; ++j)
          for (int64_t p = 0; p < 5; ++p)
            expected.add(i * 20 + j, a[i * 5 + p] * b[p * 20 + j],
                         8 * sumRoundoff(dtype));
      bench.expect(c, expected, "c");
    });
}

} // namespace
} // namespace shardc::runtime

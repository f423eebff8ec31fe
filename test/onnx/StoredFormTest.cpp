// Tables that programs compute are told from values that were learned or drawn.
#include "frontend/onnx/parameters/StoredForm.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace shardc::onnx {
namespace {

constexpr double float32 = 1e-4, bfloat16 = 3e-2;

std::vector<double> table(int64_t rows, int64_t columns, auto value) {
  std::vector<double> result;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result.push_back(float(value(row, column)));
  return result;
}

double positional(int64_t row, int64_t column, int64_t columns) {
  double angle = row / std::pow(10000, double(column / 2 * 2) / columns);
  return column % 2 ? std::cos(angle) : std::sin(angle);
}

TEST(StoredForm, Sines) {
  for (int64_t columns : {2, 4, 16, 64})
    EXPECT_EQ(formOfValues(table(32, columns,
                                 [&](int64_t row, int64_t column) {
                                   return positional(row, column, columns);
                                 }),
                           columns, float32),
              StoredForm::Sines)
        << columns;
  // Sines, then cosines, as Marian has them; the row of a padding index is
  // zeros.
  EXPECT_EQ(formOfValues(table(24, 8,
                               [](int64_t row, int64_t column) {
                                 double angle =
                                     row / std::pow(10000, column % 4 / 4.0);
                                 return row == 1     ? 0
                                        : column < 4 ? std::sin(angle)
                                                     : std::cos(angle);
                               }),
                         8, float32),
            StoredForm::Sines);
}

// One half of the columns is of the image's row, the other of its column, sines
// before cosines in each (MAE, DiT).
TEST(StoredForm, SinesOverTwoAxes) {
  constexpr int64_t columns = 16, width = 5;
  auto value = [](int64_t row, int64_t column) {
    int64_t place = column < columns / 2 ? row / width : row % width;
    double angle = double(place) / std::pow(10000, double(column % 4) / 4);
    return column % 8 < 4 ? std::sin(angle) : std::cos(angle);
  };
  std::vector<double> values = table(width * width, columns, value);
  EXPECT_EQ(formOfValues(values, columns, float32), StoredForm::Sines);
  // A table that was trained from there is none.
  values[37] += 0.01;
  EXPECT_EQ(formOfValues(values, columns, float32), StoredForm::Free);
}

TEST(StoredForm, SinesOfSixteenBits) {
  auto rounded = [](int64_t row, int64_t column) {
    int exponent;
    double mantissa = std::frexp(positional(row, column, 16), &exponent);
    return std::ldexp(std::round(mantissa * 256) / 256, exponent);
  };
  EXPECT_EQ(formOfValues(table(32, 16, rounded), 16, bfloat16),
            StoredForm::Sines);
  // Too few to tell.
  EXPECT_EQ(formOfValues(table(5, 16, rounded), 16, bfloat16),
            StoredForm::Free);
}

TEST(StoredForm, Series) {
  auto geometric = [](int64_t row, int64_t) { return std::exp2(-2.0 * row); };
  EXPECT_EQ(formOfValues(table(4, 1, geometric), 1, float32),
            StoredForm::Series);
  auto frequency = [](int64_t row, int64_t) {
    return std::pow(10000, -row / 32.0);
  };
  EXPECT_EQ(formOfValues(table(32, 1, frequency), 1, float32),
            StoredForm::Series);
  auto arithmetic = [](int64_t row, int64_t) { return 3.0 * row - 7; };
  EXPECT_EQ(formOfValues(table(9, 1, arithmetic), 1, float32),
            StoredForm::Series);
}

TEST(StoredForm, Masks) {
  auto causal = [](double off) {
    return
        [off](int64_t row, int64_t column) { return column > row ? off : 0.0; };
  };
  for (double off : {-1e9, -65504.0, -double(INFINITY), 1.0})
    EXPECT_EQ(formOfValues(table(6, 6, causal(off)), 6, float32),
              StoredForm::Mask)
        << off;
  // Small numbers are no mask, and a vector of flags may be learned.
  EXPECT_EQ(formOfValues(table(6, 6, causal(-0.5)), 6, float32),
            StoredForm::Free);
  EXPECT_EQ(formOfValues({0, 1, 1, 0, 1}, 1, float32), StoredForm::Free);
}

TEST(StoredForm, WhatParametersStartAs) {
  EXPECT_EQ(formOfValues(std::vector<double>(12, 1.0), 3, float32),
            StoredForm::Uniform);
  // log(1), log(2), ... in every row, as Mamba's A_log.
  auto logarithms = [](int64_t, int64_t column) {
    return std::log(column + 1.0);
  };
  EXPECT_EQ(formOfValues(table(16, 8, logarithms), 8, float32),
            StoredForm::Free);
  auto alternating = [](int64_t row, int64_t) { return row % 2 ? -1.0 : 1.0; };
  EXPECT_EQ(formOfValues(table(8, 1, alternating), 1, float32),
            StoredForm::Free);
  auto identity = [](int64_t row, int64_t column) {
    return row == column ? 0.5 : 0.0;
  };
  EXPECT_EQ(formOfValues(table(8, 8, identity), 8, float32), StoredForm::Free);
  std::mt19937 random(0);
  std::normal_distribution<double> normal;
  for (int64_t rows : {4, 5, 8, 64})
    for (int64_t columns : {1, 2, 8})
      for (int round = 0; round < 50; ++round)
        EXPECT_EQ(formOfValues(
                      table(rows, columns,
                            [&](int64_t, int64_t) { return normal(random); }),
                      columns, float32),
                  StoredForm::Free)
            << rows << " x " << columns;
}

} // namespace
} // namespace shardc::onnx

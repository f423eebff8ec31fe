// Norms of gradients: of blocks that depend on parameters alone, added exactly.
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/Optimizer.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardc::runtime::cpu {

/// Sums are in double up to here, wherever a row is cut into slices.
static constexpr int64_t mostRowElements = 64 << 10;

GradientNorm::GradientNorm(std::vector<Tensor> gradientTensors,
                           const std::vector<std::vector<entry::Rows>> &rows)
    : gradients(std::move(gradientTensors)) {
  for (size_t i = 0; i < gradients.size(); ++i)
    for (const entry::Rows &all : rows[i]) {
      int64_t end = all.begin + all.count * all.width;
      if (all.width > mostRowElements) {
        for (int64_t row = all.begin; row < end; row += all.width)
          for (int64_t at = 0; at < all.width; at += mostRowElements)
            parts.push_back(
                {i, {row + at, 1, std::min(mostRowElements, all.width - at)}});
        continue;
      }
      int64_t rowsAtOnce = mostRowElements / all.width;
      for (int64_t row = 0; row < all.count; row += rowsAtOnce)
        parts.push_back({i,
                         {all.begin + row * all.width,
                          std::min(rowsAtOnce, all.count - row), all.width}});
    }
}

/// Returns the larger; what is not a number wins.
static double larger(double a, double b) { return a != a || a >= b ? a : b; }
static double combined(Norm norm, double a, double b) {
  return norm == Norm::Inf ? larger(a, b) : a + b;
}

template <typename T>
static double powerSum(const T *values, int64_t count, Norm norm) {
  switch (norm) {
  case Norm::One:
    return simd::loops<T>().absoluteSum(values, count);
  case Norm::Two:
    return simd::loops<T>().squaredNorm(values, count);
  default:
    return simd::loops<T>().largestAbsolute(values, count);
  }
}
template <typename H>
static double powerSumOfHalves(const H *values, int64_t count, Norm norm) {
  constexpr int64_t block = 4096;
  alignas(64) float wide[block];
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t size = std::min(block, count - begin);
    simd::halfLoops<H>().widen(wide, values + begin, size);
    total = combined(norm, total, powerSum(wide, size, norm));
  }
  return total;
}
template <typename T>
static double rowSum(const T *values, int64_t count, Norm norm) {
  if constexpr (std::is_floating_point_v<T>)
    return powerSum(values, count, norm);
  else
    return powerSumOfHalves(values, count, norm);
}

/// Calls add(sum of powers) for each row.
template <typename T, typename Add>
static void forRowSums(const Tensor &gradient, const entry::Rows &rows,
                       Norm norm, const Add &add) {
  const T *row = gradient.as<T>() + rows.begin;
  if (rows.width > 1) {
    for (int64_t i = 0; i < rows.count; ++i, row += rows.width)
      add(rowSum(row, rows.width, norm));
    return;
  }
  // Rows of one element, as vectors have: a block of them is widened at once.
  constexpr int64_t block = 1024;
  double wide[block];
  for (int64_t begin = 0; begin < rows.count; begin += block) {
    int64_t size = std::min(block, rows.count - begin);
    convertElements(row + begin, gradient.dtype, wide, plan::FLOAT64, size);
    for (int64_t i = 0; i < size; ++i)
      add(norm == Norm::Two ? wide[i] * wide[i] : std::fabs(wide[i]));
  }
}

void GradientNorm::compute(
    Norm norm, ThreadPool &pool,
    std::optional<std::span<const int64_t, ExactSum::words>> previous,
    std::span<int64_t, ExactSum::words> result) {
  std::vector<ExactSum> sums(pool.workers());
  std::vector<double> largest(pool.workers());
  pool.forRanges(
      std::ssize(parts), 1, [&](int64_t begin, int64_t end, int worker) {
        ExactSum sum;
        double most = 0;
        for (const Part &part : std::span(parts).subspan(begin, end - begin)) {
          const Tensor &gradient = gradients[part.gradient];
          withFloat(gradient.dtype, [&]<typename T>(T) {
            if (norm == Norm::Inf)
              forRowSums<T>(gradient, part.rows, norm,
                            [&](double value) { most = larger(most, value); });
            else
              forRowSums<T>(gradient, part.rows, norm,
                            [&](double value) { sum.add(value); });
          });
        }
        sums[worker].add(sum);
        largest[worker] = larger(largest[worker], most);
      });
  if (norm == Norm::Inf) {
    double most = previous ? std::bit_cast<double>((*previous)[0]) : 0;
    std::ranges::fill(result, 0);
    for (double each : largest)
      most = larger(most, each);
    // Of numbers that are not negative, and of those that are none, the larger
    // one has the larger bits.
    result[0] = std::bit_cast<int64_t>(std::fabs(most));
    return;
  }
  ExactSum total = previous ? ExactSum(*previous) : ExactSum();
  for (const ExactSum &sum : sums)
    total.add(sum);
  total.store(result);
}

} // namespace shardc::runtime::cpu

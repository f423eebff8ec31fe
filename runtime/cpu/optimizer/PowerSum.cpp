// Sums of powers: of a row in double, and of rows exactly.
#include "runtime/cpu/optimizer/PowerSum.h"

#include "runtime/base/DType.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardc::runtime::cpu {

std::vector<entry::Rows> addedAtOnce(const std::vector<entry::Rows> &rows) {
  std::vector<entry::Rows> cut;
  for (const entry::Rows &all : rows) {
    int64_t end = all.begin + all.count * all.width;
    if (all.width <= mostRowElements) {
      cut.push_back(all);
      continue;
    }
    for (int64_t row = all.begin; row < end; row += all.width)
      for (int64_t at = 0; at < all.width; at += mostRowElements)
        cut.push_back({row + at, 1, std::min(mostRowElements, all.width - at)});
  }
  return cut;
}

/// Returns the larger; what is not a number wins.
static double larger(double a, double b) { return a != a || a >= b ? a : b; }
static double combined(Norm norm, double a, double b) {
  return norm == Norm::Inf ? larger(a, b) : a + b;
}

template <typename T>
static double rowPower(const T *values, int64_t count, Norm norm) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (norm) {
    case Norm::One:
      return simd::loops<T>().absoluteSum(values, count);
    case Norm::Two:
      return simd::loops<T>().squaredNorm(values, count);
    default:
      return simd::loops<T>().largestAbsolute(values, count);
    }
  } else {
    constexpr int64_t block = 4096;
    alignas(64) float wide[block];
    double total = 0;
    for (int64_t begin = 0; begin < count; begin += block) {
      int64_t size = std::min(block, count - begin);
      simd::halfLoops<T>().widen(wide, values + begin, size);
      total = combined(norm, total, rowPower(wide, size, norm));
    }
    return total;
  }
}

PowerSum::PowerSum(Norm norm, StoredWords stored) : norm(norm) {
  if (norm == Norm::Inf)
    most = std::bit_cast<double>(stored[0]);
  else
    sum = ExactSum(stored);
}

void PowerSum::add(double power) {
  if (norm == Norm::Inf)
    most = larger(most, power);
  else
    sum.add(power);
}

template <typename T>
void PowerSum::addRows(const T *row, plan::DType dtype, int64_t count,
                       int64_t width) {
  if (width > 1) {
    for (int64_t i = 0; i < count; ++i, row += width)
      add(rowPower(row, width, norm));
    return;
  }
  // Rows of one element, as vectors have: a block of them is widened at once.
  constexpr int64_t block = 1024;
  double wide[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t size = std::min(block, count - begin);
    convertElements(row + begin, dtype, wide, plan::FLOAT64, size);
    for (int64_t i = 0; i < size; ++i)
      add(norm == Norm::Two ? wide[i] * wide[i] : std::fabs(wide[i]));
  }
}
void PowerSum::addRows(const std::byte *elements, plan::DType dtype,
                       int64_t count, int64_t width) {
  withFloat(dtype, [&]<typename T>(T) {
    addRows(reinterpret_cast<const T *>(elements), dtype, count, width);
  });
}

void PowerSum::add(const PowerSum &other) {
  if (norm == Norm::Inf)
    most = larger(most, other.most);
  else
    sum.add(other.sum);
}

void PowerSum::store(Words to) const {
  if (norm != Norm::Inf)
    return sum.store(to);
  std::ranges::fill(to, 0);
  // Of numbers that are not negative, and of those that are none, the larger
  // one has the larger bits.
  to[0] = std::bit_cast<int64_t>(std::fabs(most));
}

} // namespace shardc::runtime::cpu

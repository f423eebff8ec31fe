// What a norm is the root of, over rows of gradients.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_POWERSUM_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_POWERSUM_H

#include "runtime/base/ExactSum.h"
#include "runtime/device/Entries.h"
#include "runtime/device/StepNumbers.h"

#include <cstddef>
#include <span>
#include <vector>

namespace shardc::runtime::cpu {

/// Sums are in double up to here, wherever a row is cut into slices.
inline constexpr int64_t mostRowElements = 64 << 10;

/// Cuts rows of more elements than that into rows of their own.
std::vector<entry::Rows> addedAtOnce(const std::vector<entry::Rows> &rows);

/// The sum of |g|^p, p = 1 or 2, or for Norm::Inf the largest |g| (not a number
/// where one is not). Each row is added up in double, in one fixed order, and
/// what comes of rows exactly: the result is the same in whatever order, and
/// whoever adds which of them.
class PowerSum {
public:
  using Words = std::span<int64_t, ExactSum::words>;
  using StoredWords = std::span<const int64_t, ExactSum::words>;

  explicit PowerSum(Norm norm) : norm(norm) {}
  /// Takes what store() wrote for the same norm.
  PowerSum(Norm norm, StoredWords stored);

  /// Adds rows of a float type, which begin at `elements`.
  void addRows(const std::byte *elements, plan::DType dtype, int64_t count,
               int64_t width);
  void add(const PowerSum &other);
  /// Writes an ExactSum, or for Norm::Inf the bits of the largest in the first
  /// word and zeros behind it.
  void store(Words to) const;

private:
  template <typename T>
  void addRows(const T *row, plan::DType dtype, int64_t count, int64_t width);
  void add(double power);

  Norm norm;
  ExactSum sum;
  double most = 0;
};

} // namespace shardc::runtime::cpu

#endif

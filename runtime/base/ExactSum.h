// Sums of float64 numbers without rounding, so that their order does not matter:
// losses and norms are the same on every mesh.
#ifndef SHARDC_RUNTIME_BASE_EXACTSUM_H
#define SHARDC_RUNTIME_BASE_EXACTSUM_H

#include <array>
#include <cstdint>
#include <span>

namespace shardc::runtime {

/// A fixed-point number that holds every finite float64 and sums of 2^30 of
/// them: the small superaccumulator of R. M. Neal, "Fast Exact Summation Using
/// Small and Large Superaccumulators", arXiv:1505.05571. As words of 64 bits it
/// is added word by word, in any order, by whatever adds int64.
class ExactSum {
public:
  /// Digits of 32 bits, the first worth 2^-1074, and a last word that counts
  /// what is not finite.
  static constexpr int64_t words = 68;

  ExactSum() = default;
  /// Takes what store() wrote, or the sum of up to 2^30 such.
  explicit ExactSum(std::span<const int64_t, words> stored);

  void add(double value);
  void add(const ExactSum &other);
  /// Writes the one form that the number has. A sum of more than 2^20 of those
  /// that are not finite is not one.
  void store(std::span<int64_t, words> to) const;
  /// Returns the nearest float64, ties to even; what is not finite as adding
  /// would have it.
  double round() const;

private:
  static constexpr int64_t digitCount = words - 1;

  /// Brings all digits but the last one into [0, 2^32).
  void normalize();

  std::array<int64_t, digitCount> digits{};
  int64_t added = 0; // since the digits were in [0, 2^32)
  bool hasInfinity = false, hasNegativeInfinity = false, hasNan = false;
};

} // namespace shardc::runtime

#endif

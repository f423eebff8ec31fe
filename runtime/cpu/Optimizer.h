// Norms of gradients, sums over micro-batches and optimizer steps over flat
// slices.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_H

#include "runtime/base/ExactSum.h"
#include "runtime/base/Tensor.h"
#include "runtime/device/Entries.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// Computes the sum of |g|^p, p = 1 or 2, or for Norm::Inf the largest |g| (not
/// a number where one is not). Blocks of a row are added up in double, and what
/// comes of them exactly: the result is the same whoever has which rows.
class GradientNorm {
public:
  /// The gradients are contiguous, of any float type; `rows` says of each which
  /// of its elements count.
  GradientNorm(std::vector<Tensor> gradients,
               const std::vector<std::vector<entry::Rows>> &rows);
  /// Writes an ExactSum, or for Norm::Inf the bits of the largest in the first
  /// word and zeros behind it; `previous` has the same of other gradients.
  void
  compute(Norm norm, ThreadPool &pool,
          std::optional<std::span<const int64_t, ExactSum::words>> previous,
          std::span<int64_t, ExactSum::words> result);

private:
  std::vector<Tensor> gradients;
  /// Rows for one thread: at most blockElements in several rows, or a block of
  /// one.
  struct Part {
    size_t gradient;
    entry::Rows rows;
  };
  std::vector<Part> parts;
};

/// Adds up micro-batches: to = from, or to += from. Both are contiguous floats,
/// equally many, or int64. Floats are added in float64 where one of them is,
/// else in float32, and rounded once.
void assign(const Tensor &to, const Tensor &from, ThreadPool &pool);
void accumulate(const Tensor &to, const Tensor &from, ThreadPool &pool);

using entry::Range;

/// A step of an optimizer of Optimizers.h on the elements in `ranges`; states
/// are in the order that it has there. It computes in float64 where the master
/// is, else in float32; each result is rounded once to its tensor's type.
struct OptimizerStep {
  using Kind = OptimizerKind;
  Kind kind;
  Tensor master, gradient;
  std::vector<Tensor> states; // of the master's type
  std::vector<Range> ranges;
  /// Where the updated master is written a second time, rounded to this one's
  /// type; may be empty.
  Tensor copy = {};
  Tensor remainder = {}; // of masters that are split
  /// Where matrices go, in the type that is computed in; empty where there are
  /// none.
  Tensor direction = {};

  /// `norm` is that of all gradients times gradientFactor, where the run clips.
  void run(const StepNumbers &numbers, double norm, ThreadPool &pool) const;
};

/// Updates the matrices' state and writes their direction.
void runDirection(const entry::MatrixDirection &entry,
                  const StepNumbers &numbers, double norm, ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif

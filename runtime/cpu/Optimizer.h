// Norms of gradients, sums over micro-batches and optimizer steps over flat
// slices.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_H

#include "runtime/base/Tensor.h"
#include "runtime/device/Entries.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// Computes the sum of |g|^p in double, p = 1 or 2, or for Norm::Inf the
/// largest |g| (not a number where one is not). Every gradient is cut into
/// product(slices) equal slices: within a slice the sum goes gradient by
/// gradient, and slices are added as a tree of `slices` levels, outermost
/// first. So one rank with all slices adds as the ranks with one slice each
/// would, mesh dimension by mesh dimension.
class GradientNorm {
public:
  /// The gradients are contiguous, of any float type, with a multiple of
  /// product(slices) elements.
  GradientNorm(std::vector<Tensor> gradients, std::vector<int64_t> slices);
  double compute(Norm norm, ThreadPool &pool);

private:
  double partialSum(Norm norm, size_t level, const double *&slice) const;

  std::vector<Tensor> gradients;
  std::vector<int64_t> levels;
  struct Part {
    int64_t slice, gradient, begin, end;
  };
  std::vector<Part> parts; // in the order of the sum
  std::vector<double> partSums, sliceSums;
};

/// Adds up micro-batches: to = from, or to += from. Both are contiguous floats,
/// equally many. They are added in float64 where one of them is, else in
/// float32, and rounded once.
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

  /// `norm` is that of all gradients times gradientFactor, where the run clips.
  void run(const StepNumbers &numbers, double norm, ThreadPool &pool) const;
};

} // namespace shardc::runtime::cpu

#endif

// Sums over micro-batches and optimizer steps over flat slices.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_OPTIMIZER_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_OPTIMIZER_H

#include "runtime/base/Tensor.h"
#include "runtime/device/Entries.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

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

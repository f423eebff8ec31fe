// Norms of gradients and optimizer steps over flat shards.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_H

#include "runtime/Executor.h"
#include "runtime/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// Sum of squares in double: slice by slice (`slices` equal slices of every
/// gradient), within a slice gradient by gradient, so that one rank with all
/// slices adds as the ranks with one slice each would.
class SquaredNorm {
public:
  SquaredNorm(std::vector<Tensor> gradients, int64_t slices);
  double compute(ThreadPool &pool);

private:
  std::vector<Tensor> gradients;
  struct Part {
    int64_t slice, gradient, begin, end;
  };
  std::vector<Part> parts; // in the order of the sum
  std::vector<double> sums;
};

/// [begin, end) of a slice: elements of trainable parameters.
struct Range {
  int64_t begin, end;
};

/// torch.optim's AdamW, Adam or SGD on the elements in `ranges`; states as
/// Optimizer.states of the plan has them.
struct OptimizerStep {
  enum class Kind { AdamW, Adam, Sgd };
  Kind kind;
  Tensor parameter, gradient;
  std::vector<Tensor> states;
  std::vector<Range> ranges;

  /// Kind of a plan's optimizer, and how many states it has; false for an
  /// unknown one.
  static bool parse(const std::string &name, Kind &kind, int &states);
  /// `squaredNorm`: of all gradients, where the run clips.
  void run(const StepNumbers &numbers, double squaredNorm,
           ThreadPool &pool) const;
};

} // namespace shardc::runtime::cpu

#endif

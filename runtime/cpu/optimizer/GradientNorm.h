// Norms of gradients.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_GRADIENTNORM_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_GRADIENTNORM_H

#include "runtime/base/Tensor.h"
#include "runtime/cpu/optimizer/PowerSum.h"
#include "runtime/cpu/optimizer/ReducedNorm.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// Computes a PowerSum over gradients.
class GradientNorm {
public:
  /// Of each gradient what has been added up as it came, or null.
  using Reduced = std::vector<std::shared_ptr<ReducedNorm>>;

  /// The gradients are contiguous, of any float type; `rows` says of each which
  /// of its elements count. An empty `reduced`: none has been added up.
  GradientNorm(std::vector<Tensor> gradients,
               const std::vector<std::vector<entry::Rows>> &rows,
               Reduced reduced = {});
  /// `previous` has the same of other gradients.
  void compute(Norm norm, ThreadPool &pool,
               std::optional<PowerSum::StoredWords> previous,
               PowerSum::Words result);

private:
  std::vector<Tensor> gradients;
  Reduced reduced;
  /// Rows for one thread.
  struct Part {
    size_t gradient;
    entry::Rows rows;
  };
  std::vector<Part> parts;
};

} // namespace shardc::runtime::cpu

#endif

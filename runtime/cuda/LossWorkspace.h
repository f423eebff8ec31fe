// Where things lie in the workspace of linear_cross_entropy on a GPU: the plan
// and the device agree by this.
#ifndef SHARDC_RUNTIME_CUDA_LOSSWORKSPACE_H
#define SHARDC_RUNTIME_CUDA_LOSSWORKSPACE_H

#include <cstdint>

namespace shardc::runtime::cuda {

/// In bytes: a chunk of logits (at 0), a float64 per row, sums of gradients in
/// float32, and behind them what products take.
struct LossWorkspace {
  struct Sizes {
    int64_t rows = 0, chunk = 0, features = 0, classes = 0;
    int64_t logitsRowBytes = 0; // from one row of logits to the next one
    /// Gradients of 16 bits are summed in float32, to be rounded once.
    bool sumsWeights = false, sumsBias = false;
  };

  constexpr explicit LossWorkspace(const Sizes &of) : of(of) {
    auto part = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    losses = part(of.chunk * of.logitsRowBytes);
    weightSums = losses + part(of.rows * 8);
    biasSums =
        weightSums + (of.sumsWeights ? part(of.features * of.classes * 4) : 0);
    products = biasSums + (of.sumsBias ? part(of.classes * 4) : 0);
  }

  Sizes of;
  int64_t losses = 0, weightSums = 0, biasSums = 0, products = 0;
};

} // namespace shardc::runtime::cuda

#endif

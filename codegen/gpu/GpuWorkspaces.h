// Library calls on a GPU need this scratch memory.
#ifndef SHARDC_CODEGEN_GPU_GPUWORKSPACES_H
#define SHARDC_CODEGEN_GPU_GPUWORKSPACES_H

#include "codegen/step/Workspaces.h"

namespace shardc::gpu {

class GpuWorkspaces final : public step::Workspaces {
public:
  /// A product needs none: it takes 16-bit operands as they are, and the
  /// library's own scratch memory belongs to a stream, not to a call.
  int64_t gemm(int64_t, int64_t, int64_t, int64_t) const override { return 0; }
  /// Attention needs none: a block of queries stays on its multiprocessor (Dao
  /// et al., FlashAttention, arXiv:2205.14135).
  int64_t attention(const step::AttentionSizes &) const override { return 0; }
  /// There are three numbers for each row of scores, float32 or float64: what
  /// its exponentials are shifted by and multiplied with, and the sum of output *
  /// gradient (runtime/cuda/kernels/AttentionParameters.h).
  int64_t attentionGrad(const step::AttentionSizes &sizes) const override;
  /// A chunk has as many rows as 512 MB of logits hold, since each is another
  /// pass over the weight gradient; the number is a multiple of 64.
  int64_t linearCrossEntropyChunk(
      const step::LinearCrossEntropySizes &sizes) const override;
  /// There are a chunk of logits, a float64 per row, and sums of gradients that
  /// are rounded.
  int64_t
  linearCrossEntropy(const step::LinearCrossEntropySizes &sizes) const override;
};

} // namespace shardc::gpu

#endif

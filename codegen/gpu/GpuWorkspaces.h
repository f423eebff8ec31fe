// Library calls on a GPU need this scratch memory.
#ifndef SHARDC_CODEGEN_GPU_GPUWORKSPACES_H
#define SHARDC_CODEGEN_GPU_GPUWORKSPACES_H

#include "codegen/step/Workspaces.h"

namespace shardc::gpu {

class GpuWorkspaces final : public step::Workspaces {
public:
  /// `capability`: the least of the GPUs, 90 for 9.0.
  explicit GpuWorkspaces(int capability)
      : productBytes(int64_t(capability >= 90 ? 32 : 4) << 20) {}

  /// What NVIDIA recommends for cuBLAS since compute capability 9.0, and before.
  /// It bounds the algorithms that the library's heuristic chooses from.
  int64_t gemm(int64_t, int64_t, int64_t, int64_t) const override {
    return productBytes;
  }
  /// The trainer's own kernels need none: a block of queries stays on its
  /// multiprocessor (Dao et al., FlashAttention, arXiv:2205.14135). cuDNN's take
  /// 256 bytes, and what is added to the scores as one tensor of float32, with a
  /// number for each row of them.
  int64_t attention(const step::AttentionSizes &sizes) const override;
  /// The own kernels' three numbers for each row of scores, float32 or float64:
  /// what its exponentials are shifted by and multiplied with, and the sum of
  /// output * gradient (runtime/cuda/kernels/AttentionParameters.h). Or, if that
  /// is more, what cuDNN's gradient takes (docs/decisions/0038-cudnn.md).
  int64_t attentionGrad(const step::AttentionSizes &sizes) const override;
  /// A chunk has as many rows as 512 MB of logits hold, at most, since each is
  /// another pass over the weight gradient; chunks are alike, and their number
  /// of rows a multiple of 64.
  int64_t linearCrossEntropyChunk(
      const step::LinearCrossEntropySizes &sizes) const override;
  /// There are a chunk of logits, a float64 per row, and sums of gradients that
  /// are rounded.
  int64_t
  linearCrossEntropy(const step::LinearCrossEntropySizes &sizes) const override;
  /// What other ranks bring arrives all at once.
  int64_t reduceScatter(int64_t bytes, int64_t ranks) const override {
    return ranks > 1 ? bytes : 0;
  }
  /// Ranks' parts of the value arrive, each at most so long that there are 64 MiB
  /// of them together.
  int64_t allReduce(int64_t elements, int64_t elementBytes,
                    int64_t ranks) const override;

private:
  int64_t productBytes;
};

} // namespace shardc::gpu

#endif

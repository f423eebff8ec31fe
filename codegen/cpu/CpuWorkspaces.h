// Scratch memory of library calls on the CPU, by what the device says
// (runtime/cpu/WorkspaceSizes.h); runtime/plan.proto lists the formulas.
#ifndef SHARDC_CODEGEN_CPU_CPUWORKSPACES_H
#define SHARDC_CODEGEN_CPU_CPUWORKSPACES_H

#include "codegen/step/Workspaces.h"

namespace shardc::cpu {

/// Elements of 16 bits are computed with as float32, which takes scratch memory
/// for what is converted.
class CpuWorkspaces final : public step::Workspaces {
public:
  /// `workers` is the number of threads of a rank, each of which has a slice.
  explicit CpuWorkspaces(int64_t workers) : workers(workers) {}

  /// For each worker there are blocks of both operands, of the result and of
  /// the bias in float32; there are none where nothing is converted.
  int64_t gemm(int64_t m, int64_t n, int64_t k,
               int64_t elementBytes) const override;
  /// For each worker there are a block of scores, maximum and sum of each query
  /// row in it, and converted blocks of query, key, value and output.
  int64_t attention(const step::AttentionSizes &sizes) const override;
  /// For each worker there are a block of scores and one of their gradients,
  /// one value per query row in it, converted blocks, and gradients of the keys
  /// and values of one head in float32.
  int64_t attentionGrad(const step::AttentionSizes &sizes) const override;
  /// The number of rows is a multiple of 64. It is 256, since each chunk is
  /// another pass over the weight gradient, but more where 16 MiB hold them,
  /// and fewer where 64 MiB hold no 256.
  int64_t linearCrossEntropyChunk(
      const step::LinearCrossEntropySizes &sizes) const override;
  /// There are a chunk of logits, a float64 per row, the products' scratch, and
  /// sums of gradients that are rounded.
  int64_t
  linearCrossEntropy(const step::LinearCrossEntropySizes &sizes) const override;
  /// Ranks read what others bring where it lies.
  int64_t reduceScatter(int64_t, int64_t) const override { return 0; }
  int64_t allReduce(int64_t, int64_t, int64_t) const override { return 0; }

private:
  int64_t workers;
};

} // namespace shardc::cpu

#endif

// An entry of attention as what is enqueued for it where cuDNN computes it: a
// graph, and kernels of our own around it.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNSTEPS_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNSTEPS_H

#include "runtime/cuda/attention/AttentionGraph.h"
#include "runtime/cuda/attention/AttentionLaunches.h"
#include "runtime/cuda/kernels/AttentionBiasParameters.h"

#include <optional>

namespace shardc::runtime::cuda {

struct CudnnSteps {
  /// Before the graph: what it adds to the scores.
  std::optional<AttentionBiasParameters> bias;
  /// Then of a gradient with bias or mask: what exponentials of a row are shifted
  /// by and multiplied with, of the own kernel that finds these, and the output's
  /// gradient times the latter. log_sum_exp alone would not do: it has lost a
  /// row's sum beside a score of -10000.
  std::optional<AttentionLaunches<AttentionGradParameters>> rows;
  std::optional<AttentionScaledParameters> scaled;
  TensorGraph graph;
  /// Behind it: rows that have seen nothing.
  std::optional<AttentionUnseenParameters> unseen;
  /// What is left of the entry's workspace for the graph's plan; less than 0:
  /// the steps alone have not enough.
  CUdeviceptr workspace = 0;
  int64_t workspaceBytes = 0;
};

CudnnSteps cudnnSteps(const entry::Attention &entry);
/// Of the whole entry or, where the scores' gradients of that have no room in its
/// workspace, of equal parts of it, one after the other in that room.
std::vector<CudnnSteps> cudnnSteps(const entry::AttentionGrad &entry,
                                   QuerySums sums);

} // namespace shardc::runtime::cuda

#endif

// An entry of attention as what is enqueued for it where cuDNN computes it: a
// graph, and kernels of our own around it.
#ifndef SHARDC_RUNTIME_CUDA_CUDNNSTEPS_H
#define SHARDC_RUNTIME_CUDA_CUDNNSTEPS_H

#include "runtime/cuda/AttentionGraph.h"
#include "runtime/cuda/kernels/AttentionBiasParameters.h"

#include <optional>

namespace shardc::runtime::cuda {

struct CudnnSteps {
  /// Before the graph: what it adds to the scores.
  std::optional<AttentionBiasParameters> bias;
  TensorGraph graph;
  /// Behind it: rows that have seen nothing.
  std::optional<AttentionUnseenParameters> unseen;
  /// What is left of the entry's workspace for the graph's plan; less than 0:
  /// the steps alone have not enough.
  CUdeviceptr workspace = 0;
  int64_t workspaceBytes = 0;
};

CudnnSteps cudnnSteps(const entry::Attention &entry);
/// The entry has neither bias nor mask.
CudnnSteps cudnnSteps(const entry::AttentionGrad &entry, QuerySums sums);

} // namespace shardc::runtime::cuda

#endif

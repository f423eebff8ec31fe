// Which kernels compute an entry of attention, in which grids, with which
// parameters.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_ATTENTIONLAUNCHES_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_ATTENTIONLAUNCHES_H

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/kernels/AttentionParameters.h"
#include "runtime/device/Entries.h"

#include <string>
#include <vector>

namespace shardc::runtime::cuda {

/// A kernel of runtime/cuda/kernels/<file>.cu. There are no launches of nothing.
struct AttentionLaunch {
  std::string file, kernel;
  Grid grid;
};

/// Launches, in their order, that all take the same parameters.
template <typename Parameters> struct AttentionLaunches {
  Parameters parameters;
  std::vector<AttentionLaunch> launches;
};

/// Of a tensor [batch, rows, heads, head dim].
HeadsView viewOf(const Tensor &tensor);

/// `mostSharedBytes`: what a block may have of shared memory. 16-bit elements go
/// to matrix units where their head dims are multiples of 8 from 24 to 256 and
/// rows begin at multiples of 16 bytes.
AttentionLaunches<AttentionParameters> launchesOf(const entry::Attention &entry,
                                                  int64_t mostSharedBytes);
/// Throws an Error where the workspace is too small.
AttentionLaunches<AttentionGradParameters>
launchesOf(const entry::AttentionGrad &entry, int64_t mostSharedBytes);

/// Bytes of scratch memory; plan.proto has the formula. Forward needs none.
int64_t attentionGradWorkspace(const entry::AttentionOperands &operands);

} // namespace shardc::runtime::cuda

#endif

// Which kernels compute an entry of attention, in which grids, with which
// parameters.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTIONLAUNCHES_H
#define SHARDC_RUNTIME_CUDA_ATTENTIONLAUNCHES_H

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/kernels/AttentionParameters.h"
#include "runtime/device/Entries.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime::cuda {

/// A kernel of runtime/cuda/kernels/<file>.cu. There are no launches of nothing.
struct AttentionLaunch {
  std::string_view file;
  std::string kernel;
  Grid grid;
};

/// Launches, in their order, that all take the same parameters.
template <typename Parameters> struct AttentionLaunches {
  Parameters parameters;
  std::vector<AttentionLaunch> launches;
};

AttentionLaunches<AttentionParameters>
launchesOf(const entry::Attention &entry);
/// Throws an Error where the workspace is too small.
AttentionLaunches<AttentionGradParameters>
launchesOf(const entry::AttentionGrad &entry);

/// Bytes of scratch memory; plan.proto has the formula. Forward needs none.
int64_t attentionGradWorkspace(const entry::AttentionOperands &operands);

} // namespace shardc::runtime::cuda

#endif

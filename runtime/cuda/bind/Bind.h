// From resolved entries to what is enqueued: one function per kind of entry.
#ifndef SHARDC_RUNTIME_CUDA_BIND_BIND_H
#define SHARDC_RUNTIME_CUDA_BIND_BIND_H

#include "runtime/cuda/CudaDevice.h"

#include <functional>

namespace shardc::runtime::cuda {

/// A bound entry: enqueues its work on the device's compute stream. It reads
/// device.numbers where a step's numbers matter; it neither allocates nor waits,
/// so that it can be captured.
using Task = std::function<void()>;

#define SHARDC_DECLARE(Kind)                                                   \
  Task bind(CudaDevice &device, const entry::Kind &entry);
SHARDC_COMPUTE_ENTRIES(SHARDC_DECLARE)
SHARDC_PROGRAM_ENTRIES(SHARDC_DECLARE)
#undef SHARDC_DECLARE

/// Where a tensor's first element lies; 0 of one that is not there.
inline CUdeviceptr addressOf(const Tensor &tensor) {
  return addressOf(tensor.data);
}

/// Launches one own kernel with parameters that are known when binding.
template <typename Parameters>
Task kernelTask(CudaDevice &device, std::string_view file,
                const std::string &name, const Grid &grid,
                Parameters parameters) {
  CUfunction kernel = device.ownKernel(file, name);
  return [&device, kernel, grid, own = Parameters(parameters)]() mutable {
    device.launch(kernel, grid, own);
  };
}

/// The suffix of kernels' names: f64, f32, bf16, f16, i64, i32, u8, i8, bool.
const char *suffixOf(plan::DType dtype);

/// Throws an Error where an entry has less scratch memory than it needs.
void requireWorkspace(const Tensor &workspace, int64_t bytes);

/// Blocks of `threads` for so many elements, at least one and at most what
/// keeps the whole device busy: kernels take elements in turns.
Grid gridFor(int64_t elements, unsigned threads = 256);

} // namespace shardc::runtime::cuda

#endif

// The kernels that were compiled with the model: a trainer's section
// (plan.proto's CudaKernels), PTX and code of each.
#ifndef SHARDC_RUNTIME_CUDA_IMAGES_H
#define SHARDC_RUNTIME_CUDA_IMAGES_H

#include "runtime/cuda/Libraries.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <span>
#include <string>

namespace shardc::runtime::cuda {

/// Loads an image, PTX or a cubin, into the current context. Throws an Error
/// with `name` and what the driver's assembler says.
CUmodule loadModule(const Driver &driver, const std::string &name,
                    const void *image);

class Images {
public:
  /// Throws an Error where the section is none, or lacks a kernel of the plan.
  Images(std::span<const std::byte> section, const plan::Plan &plan);

  /// Loads kernel `index` of the plan: the code that was assembled for a device
  /// of exactly this compute capability (90: 9.0), else its PTX.
  CUfunction load(const Driver &driver, int capability, uint32_t index) const;

private:
  plan::CudaKernels kernels;
};

} // namespace shardc::runtime::cuda

#endif

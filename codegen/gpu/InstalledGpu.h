// The GPUs of the machine that compiles, as CUDA's driver names them.
#ifndef SHARDC_CODEGEN_GPU_INSTALLEDGPU_H
#define SHARDC_CODEGEN_GPU_INSTALLEDGPU_H

#include <optional>
#include <string>

namespace shardc::gpu {

/// Returns the newest of sm_80, sm_90 and sm_100 whose code runs on all GPUs of
/// this machine from compute capability 8.0 on; nothing where there is no
/// driver, or no such GPU. Opens the driver's library, and makes no context.
std::optional<std::string> installedGpu();

} // namespace shardc::gpu

#endif

// NVIDIA GPUs as the devices of ranks: each rank of a process has one.
#ifndef SHARDC_RUNTIME_CUDA_CUDAPLATFORM_H
#define SHARDC_RUNTIME_CUDA_CUDAPLATFORM_H

#include "runtime/cuda/Images.h"
#include "runtime/cuda/products/TuneFile.h"
#include "runtime/device/Platform.h"

#include <memory>
#include <optional>

namespace shardc::runtime::cuda {

class CudaPlatform final : public Platform {
public:
  DeviceTraits traits(const plan::Plan &plan) const override;
  void checkTarget(const plan::Plan &plan) const override;
  int deviceCount(const plan::Plan &plan) const override;
  bool wantsProcesses() const override { return true; }
  /// Opens NVIDIA's driver.
  void requireDevices(const plan::Plan &plan, int64_t count,
                      int64_t bytes) const override;
  void check(const plan::Plan &plan) const override;
  int64_t bytesPerThread() const override { return 0; }
  DeviceRates measure(Device &device, const DeviceOptions &options,
                      int64_t ranksPerHost) const override;
  /// Opens all of NVIDIA's libraries.
  DeviceFactory devices(const plan::Plan &plan,
                        std::span<const std::byte> section,
                        const DeviceOptions &options) override;

private:
  std::optional<Libraries> libraries;
  std::optional<Images> images;
  std::optional<TuneFile> tuneFile; // in the process with rank 0
};

} // namespace shardc::runtime::cuda

#endif

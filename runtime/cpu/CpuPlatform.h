// This machine's processor as the device of all ranks.
#ifndef SHARDC_RUNTIME_CPU_CPUPLATFORM_H
#define SHARDC_RUNTIME_CPU_CPUPLATFORM_H

#include "runtime/cpu/KernelLibrary.h"
#include "runtime/device/Platform.h"

#include <limits>
#include <optional>

namespace shardc::runtime::cpu {

class CpuPlatform : public Platform {
public:
  DeviceTraits traits(const plan::Plan &plan) const override;
  void checkTarget(const plan::Plan &plan) const override;
  int deviceCount(const plan::Plan &) const override {
    return std::numeric_limits<int>::max();
  }
  void check(const plan::Plan &plan) const override;
  int64_t bytesPerThread() const override;
  DeviceRates measure(Device &device, const DeviceOptions &options,
                      int64_t ranksPerHost) const override;
  DeviceFactory devices(const plan::Plan &plan,
                        std::span<const std::byte> section,
                        const DeviceOptions &options) override;

protected:
  std::optional<KernelLibrary> kernels;
};

} // namespace shardc::runtime::cpu

#endif

// This machine's processor as the device of all ranks.
#include "runtime/cpu/CpuPlatform.h"

#include "runtime/base/Error.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Processor.h"

namespace shardc::runtime::cpu {

void CpuPlatform::check(const plan::Plan &plan) const {
  if (!plan.target().has_cpu())
    fail("this trainer is for ", plan.target().name(),
         ", and this runtime for processors alone");
  checkProcessor(plan.target().cpu().processor());
}

int64_t CpuPlatform::bytesPerThread() const { return gemmThreadBytes(); }

DeviceFactory CpuPlatform::devices(const plan::Plan &plan,
                                   std::span<const std::byte> section,
                                   const DeviceOptions &options) {
  kernels.emplace(KernelLibrary::open(section, plan));
  return cpuDevices(plan, *kernels, options);
}

} // namespace shardc::runtime::cpu

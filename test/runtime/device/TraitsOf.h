// The devices that a plan in a test is for.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_TRAITSOF_H
#define SHARDC_TEST_RUNTIME_DEVICE_TRAITSOF_H

#include "runtime/cpu/CpuPlatform.h"
#include "runtime/cuda/CudaPlatform.h"

#include <memory>

namespace shardc::runtime {

inline std::unique_ptr<Platform> platformFor(const plan::Plan &plan) {
  if (plan.target().has_cuda())
    return std::make_unique<cuda::CudaPlatform>();
  return std::make_unique<cpu::CpuPlatform>();
}

inline DeviceTraits traitsOf(const plan::Plan &plan) {
  return platformFor(plan)->traits(plan);
}

} // namespace shardc::runtime

#endif

// NVIDIA GPUs as the devices of ranks.
#include "runtime/cuda/CudaPlatform.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/CudaDevice.h"

namespace shardc::runtime::cuda {

void CudaPlatform::check(const plan::Plan &plan) const {
  if (!plan.target().has_cuda())
    fail("this trainer is for ", plan.target().name(),
         ", and not for NVIDIA GPUs");
}

DeviceRates CudaPlatform::measure(const DeviceOptions &) const {
  fail("--selftest measures processors, not GPUs yet; measure a step with "
       "--profile");
}

DeviceFactory CudaPlatform::devices(const plan::Plan &plan,
                                    std::span<const std::byte> section,
                                    const DeviceOptions &options) {
  libraries.emplace();
  images.emplace(section, plan);
  return [this, &plan, options](Communicator &communicator) {
    HostRanks *ranks = communicator.hostRanks();
    int place = ranks ? communicator.rank() - ranks->localMembers().first : 0;
    return std::make_unique<CudaDevice>(plan, *libraries, *images, communicator,
                                        options.firstDevice + place, options);
  };
}

} // namespace shardc::runtime::cuda

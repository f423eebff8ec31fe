// NVIDIA GPUs as the devices of ranks.
#include "runtime/cuda/CudaPlatform.h"

#include "runtime/base/Error.h"
#include "runtime/base/PlanNumbers.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Rates.h"

#include <limits>

namespace shardc::runtime::cuda {

DeviceTraits CudaPlatform::traits(const plan::Plan &plan) const {
  return {.kind = DeviceKind::Cuda,
          .ofEachRank = concat("a GPU (", plan.target().name(), ")"),
          .ranksShare = false,
          .offloadsToFile = false,
          .flags = {"--cuda-graph", "--attention", "--tune", "--reduce"}};
}

void CudaPlatform::checkTarget(const plan::Plan &plan) const {
  const plan::CudaTarget &cuda = plan.target().cuda();
  if (cuda.grids_size() != plan.kernels_size())
    refusePlan("the target has ", cuda.grids_size(), " grids, the plan ",
               plan.kernels_size(), " kernels");
  // What CUDA can launch, in one dimension.
  for (const plan::CudaTarget::Grid &grid : cuda.grids()) {
    checkPlanRange(grid.blocks(), 0, std::numeric_limits<int32_t>::max(),
                   "the number of blocks", "a grid");
    checkPlanRange(grid.threads(), 1, 1024, "the number of threads", "a block");
  }
}

int CudaPlatform::deviceCount(const plan::Plan &plan) const {
  try {
    Libraries here;
    int count = 0, fitting = 0;
    here.driver.cuDeviceGetCount(&count);
    for (int i = 0; i < count; ++i)
      fitting +=
          capabilityOf(here.driver, i) >= plan.target().cuda().capability();
    return fitting;
  } catch (const Error &) {
    return 0;
  }
}

void CudaPlatform::requireDevices(const plan::Plan &plan, int64_t count,
                                  int64_t bytes) const {
  Libraries here;
  const Driver &driver = here.driver;
  int found = 0;
  driver.cuDeviceGetCount(&found);
  if (found < count)
    fail("there ", found == 1 ? "is " : "are ", found,
         found == 1 ? " GPU" : " GPUs", " here, and ", count,
         " ranks that want one each; compile for a smaller mesh, or start a "
         "process on each node");
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    driver.cuDeviceGet(&device, i);
    requireCapability(driver, device, plan);
    size_t total = 0;
    driver.cuDeviceTotalMem(&total, device);
    if (int64_t(total) < bytes)
      fail(nameOf(driver, device), " has ", total,
           " bytes, and a rank of this plan needs ", bytes,
           "; compile for a larger mesh, or for smaller batches");
  }
}

void CudaPlatform::check(const plan::Plan &plan) const {
  if (!plan.target().has_cuda())
    fail("this trainer is for ", plan.target().name(),
         ", and not for NVIDIA GPUs");
}

DeviceRates CudaPlatform::measure(Device &device, const DeviceOptions &,
                                  int64_t) const {
  return ratesOf(static_cast<CudaDevice &>(device));
}

DeviceFactory CudaPlatform::devices(const plan::Plan &plan,
                                    std::span<const std::byte> section,
                                    const DeviceOptions &options) {
  libraries.emplace();
  images.emplace(section, plan);
  int count = 0;
  libraries->driver.cuDeviceGetCount(&count);
  // Many launchers show each process its own GPU alone.
  int first = count == 1 ? 0 : options.firstDevice;
  if (!options.tune.empty() && options.leads) {
    CUdevice device = 0;
    libraries->driver.cuDeviceGet(&device, first);
    tuneFile.emplace(options.tune, TunePlace::of(*libraries, device));
  }
  return [this, &plan, options, first](Communicator &communicator) {
    HostRanks *ranks = communicator.hostRanks();
    int place = ranks ? communicator.rank() - ranks->localMembers().first : 0;
    return std::make_unique<CudaDevice>(
        plan, *libraries, *images, communicator, first + place, options,
        communicator.rank() == 0 && tuneFile ? &*tuneFile : nullptr);
  };
}

} // namespace shardc::runtime::cuda

// Attention, by cuDNN or as launches.
#include "runtime/cuda/attention/AttentionLaunches.h"
#include "runtime/cuda/attention/CudnnAttention.h"

namespace shardc::runtime::cuda {

template <typename Entry>
static Task bindLaunches(CudaDevice &device, const Entry &entry) {
  auto of = launchesOf(
      entry, device.context.attribute(
                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  std::vector<Task> tasks;
  for (const AttentionLaunch &each : of.launches) {
    // A kernel has more shared memory than 48 KB where it asks for it.
    if (each.grid.sharedBytes > 0)
      device.context.driver.cuFuncSetAttribute(
          device.ownKernel(each.file, each.kernel),
          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          int(each.grid.sharedBytes));
    tasks.push_back(
        kernelTask(device, each.file, each.kernel, each.grid, of.parameters));
  }
  return [tasks = std::move(tasks)] {
    for (const Task &task : tasks)
      task();
  };
}

template <typename Entry>
static Task bindEither(CudaDevice &device, const Entry &entry) {
  if (Task task = device.cudnnAttention().bind(entry))
    return task;
  return bindLaunches(device, entry);
}

Task bind(CudaDevice &device, const entry::Attention &entry) {
  return bindEither(device, entry);
}

Task bind(CudaDevice &device, const entry::AttentionGrad &entry) {
  return bindEither(device, entry);
}

} // namespace shardc::runtime::cuda

// What the other emulated libraries ask for.
#include "Work.h"

#include "Capture.h"
#include "Memory.h"
#include "Objects.h"
#include "test/emulated-cuda/ptx/Thread.h"

namespace shardc::test::cuda {

CUresult enqueueWork(CUstream stream, Work work) {
  Context *context = nullptr;
  if (CUresult entered = enter(context); entered != CUDA_SUCCESS)
    return entered;
  auto run = std::move(work.run);
  return submit(*context, stream,
                std::make_shared<Action>(Action{
                    std::move(work.name), std::move(work.accesses),
                    [run = std::move(run)](Running &) { return run(); }}));
}

void *workAddress(CUdeviceptr address) {
  return reinterpret_cast<void *>(address + ptx::kernelMemoryOffset);
}

bool isDeviceMemory(CUdeviceptr address, size_t bytes) {
  if (!isAllocated(address, bytes))
    return false;
  std::optional<Allocation> found = allocationOf(address);
  return found && found->device == currentDevice();
}

} // namespace shardc::test::cuda

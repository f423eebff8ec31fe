// One copy after the other, in a stream of each direction.
#include "runtime/cuda/HostTransfers.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/CudaDevice.h"

#include <cstring>

namespace shardc::runtime::cuda {

HostTransfers::~HostTransfers() {
  const Driver &driver = device.context.driver;
  // After an error all of these fail: the process ends soon.
  for (CUstream stream : {toHost, fromHost})
    if (stream) {
      driver.cuStreamSynchronize.function(stream);
      driver.cuStreamDestroy.function(stream);
    }
  if (begun)
    driver.cuEventDestroy.function(begun);
  for (auto [id, event] : ends)
    driver.cuEventDestroy.function(event);
  if (pool)
    driver.cuMemFreeHost.function(pool);
}

std::byte *HostTransfers::allocate(const std::string &name, int64_t count) {
  if (count == 0)
    return nullptr;
  if (pool)
    fail("expects one pool in the host's memory, got ", name, " as well");
  const Driver &driver = device.context.driver;
  void *memory = nullptr;
  CUresult result = driver.cuMemHostAlloc.function(&memory, size_t(count),
                                                   CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    fail("the host has no ", bytesText(double(count)),
         " to pin for what --offload takes out of the GPU (the pool ", name,
         " of one rank); give it more memory, or fewer ranks a machine");
  if (result != CUDA_SUCCESS)
    driver.failed(result, "cuMemHostAlloc");
  pool = static_cast<std::byte *>(memory);
  bytes = count;
  std::memset(pool, 0, size_t(bytes));
  return pool;
}

void HostTransfers::know(uint32_t id) {
  const Driver &driver = device.context.driver;
  if (!begun) {
    for (CUstream *stream : {&toHost, &fromHost})
      driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
    driver.cuEventCreate(&begun, CU_EVENT_DISABLE_TIMING);
  }
  if (auto [at, isNew] = ends.try_emplace(id); isNew)
    driver.cuEventCreate(&at->second, CU_EVENT_DISABLE_TIMING);
}

void HostTransfers::start(uint32_t id, const std::byte *from, std::byte *to,
                          int64_t count) {
  const Driver &driver = device.context.driver;
  CUstream stream = isThere(to) ? toHost : fromHost;
  driver.cuEventRecord(begun, device.compute);
  driver.cuStreamWaitEvent(stream, begun, 0);
  if (count > 0 && isThere(to))
    driver.cuMemcpyDtoHAsync(to, addressOf(from), size_t(count), stream);
  else if (count > 0)
    driver.cuMemcpyHtoDAsync(addressOf(to), from, size_t(count), stream);
  driver.cuEventRecord(ends.at(id), stream);
}

void HostTransfers::await(uint32_t id) {
  device.context.driver.cuStreamWaitEvent(device.compute, ends.at(id), 0);
}

} // namespace shardc::runtime::cuda

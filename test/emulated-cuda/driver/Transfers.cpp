// Memory, and what copies and fills it.
#include "Api.h"
#include "Findings.h"
#include "Mutant.h"
#include "Settings.h"

#include <cstring>

namespace shardc::test::cuda {

/// "cuMemcpyHtoDAsync of 16 bytes to allocation 1 of device 0 (...) at 0"
static std::string named(const char *what, size_t bytes, CUdeviceptr at) {
  return std::string(what) + " of " + std::to_string(bytes) + " bytes at " +
         describeAddress(at);
}

/// Of the calling thread, for mutants.
static thread_local CUdeviceptr lastAllocation = 0;

/// A copy of what pageable memory holds is no asynchronous one: the driver waits
/// for it, or not, as it likes.
static void checkPinned(const char *what, const void *host, size_t bytes) {
  if (!isPinned(host, bytes))
    finding(std::string(what) + " of " + std::to_string(bytes) +
            " bytes of the host that are not pinned: copy through memory of "
            "cuMemHostAlloc");
}

static CUresult waitForAll(Context &context) {
  std::vector<std::shared_ptr<Record>> records;
  {
    std::lock_guard lock(driverMutex);
    for (CUstream each : context.streams)
      if (!each->capture)
        records.push_back(each->record());
  }
  for (auto &each : records)
    awaitOnHost(*each);
  return context.error;
}

/// `function` asks for it.
static CUresult allocateFor(const char *function, Context &context,
                            size_t bytes, size_t multiple,
                            CUdeviceptr *address) {
  std::lock_guard lock(driverMutex);
  SHARDC_BREAKS_CAPTURE;
  std::string what =
      std::string(function) + " of " + std::to_string(bytes) + " bytes";
  if (context.hasLaunchedGraphs)
    finding(what + " after a graph was launched: what runs again and again "
                   "allocates nothing");
  if (hasMutant()) {
    shiftArguments(what, &bytes, sizeof(bytes));
    if (isMutated("again", what)) {
      *address = lastAllocation;
      return CUDA_SUCCESS;
    }
  }
  CUresult result = allocate(context.device, bytes, multiple, *address);
  lastAllocation = *address;
  return result;
}

CUresult allocatePages(const char *function, size_t bytes,
                       CUdeviceptr *address) {
  logCall(function, bytes);
  Context *context = nullptr;
  if (CUresult entered = enter(context); entered != CUDA_SUCCESS)
    return entered;
  return allocateFor(function, *context, bytes, 4096, address);
}

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  SHARDC_ENTER_FOR(bytes);
  return allocateFor("cuMemAlloc", *context, bytes, 256, address);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  if (!address)
    return CUDA_SUCCESS;
  SHARDC_ENTER;
  {
    std::lock_guard lock(driverMutex);
    SHARDC_BREAKS_CAPTURE;
  }
  if (CUresult result = waitForAll(*context); result != CUDA_SUCCESS)
    return result;
  return release(address);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  SHARDC_ENTER;
  *total = settings().bytes;
  *free = *total - bytesInUse(context->device);
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  SHARDC_ENTER_FOR(bytes);
  if (flags & ~unsigned(CU_MEMHOSTALLOC_PORTABLE))
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(driverMutex);
  SHARDC_BREAKS_CAPTURE;
  return allocatePinned(bytes, *address);
}

CUresult cuMemFreeHost(void *address) {
  SHARDC_ENTER;
  {
    std::lock_guard lock(driverMutex);
    SHARDC_BREAKS_CAPTURE;
  }
  if (CUresult result = waitForAll(*context); result != CUDA_SUCCESS)
    return result;
  return releasePinned(address);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  SHARDC_ENTER;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isAllocated(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (hasMutant() &&
      isMutated("pageable", named("cuMemcpyHtoDAsync", bytes, to)))
    from = &lastAllocation;
  if (hasMutant())
    if (CUresult result =
            callBefore(named("cuMemcpyHtoDAsync", bytes, to), stream, to);
        result != CUDA_SUCCESS)
      return result;
  checkPinned("cuMemcpyHtoDAsync", from, bytes);
  return submit(*context, stream,
                std::make_shared<Action>(
                    Action{named("cuMemcpyHtoDAsync", bytes, to),
                           {{to, bytes, 1, 0, true}},
                           [=, source = streamAddress(from)](Running &) {
                             std::memcpy(workAddress(to), source, bytes);
                             return CUDA_SUCCESS;
                           },
                           {from, bytes, false}}));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  SHARDC_ENTER;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isAllocated(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (hasMutant() &&
      isMutated("pageable", named("cuMemcpyDtoHAsync", bytes, from)))
    to = &lastAllocation;
  checkPinned("cuMemcpyDtoHAsync", to, bytes);
  return submit(*context, stream,
                std::make_shared<Action>(
                    Action{named("cuMemcpyDtoHAsync", bytes, from),
                           {{from, bytes, 1, 0, false}},
                           [=, target = streamAddress(to)](Running &) {
                             std::memcpy(target, workAddress(from), bytes);
                             return CUDA_SUCCESS;
                           },
                           {to, bytes, true}}));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  SHARDC_ENTER;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isAllocated(to, bytes) || !isAllocated(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (to < from + bytes && from < to + bytes)
    finding(named("cuMemcpyDtoDAsync", bytes, to) + " overlaps its source");
  return submit(*context, stream,
                std::make_shared<Action>(Action{
                    named("cuMemcpyDtoDAsync", bytes, to),
                    {{from, bytes, 1, 0, false}, {to, bytes, 1, 0, true}},
                    [=](Running &) {
                      std::memcpy(workAddress(to), workAddress(from), bytes);
                      return CUDA_SUCCESS;
                    }}));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  SHARDC_ENTER;
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!isAllocated(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return submit(*context, stream,
                std::make_shared<Action>(
                    Action{named("cuMemsetD8Async", bytes, to),
                           {{to, bytes, 1, 0, true}},
                           [=](Running &) {
                             std::memset(workAddress(to), value, bytes);
                             return CUDA_SUCCESS;
                           }}));
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address,
                                 uint32_t value, unsigned flags) {
  SHARDC_ENTER;
  bool onDevice = isAllocated(address, 4);
  auto *host = reinterpret_cast<uint32_t *>(address);
  if (flags != 0 || address % 4 || (!onDevice && !isPinned(host, 4)))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<Access> accesses;
  if (onDevice)
    accesses.push_back({address, 4, 1, 0, true});
  auto *to = static_cast<uint32_t *>(onDevice ? workAddress(address)
                                              : streamAddress(host));
  return submit(
      *context, stream,
      std::make_shared<Action>(
          Action{"cuStreamWriteValue32", std::move(accesses), [=](Running &) {
                   std::atomic_ref(*to).store(value, std::memory_order_release);
                   return CUDA_SUCCESS;
                 }}));
}

} // extern "C"

} // namespace shardc::cuda

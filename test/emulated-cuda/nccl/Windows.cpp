// Memory of NCCL's own, and windows onto it.
#include "test/emulated-cuda/nccl/Exchange.h"

#include <cstring>
#include <set>

namespace shardc::test::cuda {
namespace {

constexpr size_t pageBytes = 4096;

struct Allocation {
  CUdeviceptr raw; // what the driver gave
  size_t bytes;
};

/// Memory that begins with a page and ends with its last byte, so that what lies
/// behind it belongs to nobody: the driver begins where it likes, mostly as it
/// did before.
CUresult allocatePage(size_t bytes, CUdeviceptr &raw, CUdeviceptr &begin) {
  size_t before = 0;
  for (;;) {
    if (CUresult result = cuMemAlloc_v2(&raw, before + bytes))
      return result;
    begin = (raw + pageBytes - 1) / pageBytes * pageBytes;
    if (begin - raw <= before)
      return CUDA_SUCCESS;
    before = begin - raw;
    if (CUresult result = cuMemFree_v2(raw))
      return result;
  }
}

std::mutex mutex;
/// By their first byte.
auto &allocations = *new std::map<CUdeviceptr, Allocation>();
auto &windows = *new std::set<ncclWindow_t>();

/// The allocation of ncclMemAlloc that has all the bytes, or null.
const std::pair<const CUdeviceptr, Allocation> *allocationOf(CUdeviceptr begin,
                                                             size_t bytes) {
  auto next = allocations.upper_bound(begin);
  if (next == allocations.begin())
    return nullptr;
  auto &found = *std::prev(next);
  return begin + bytes <= found.first + found.second.bytes ? &found : nullptr;
}

} // namespace

extern "C" {

ncclResult_t ncclMemAlloc(void **address, size_t bytes) {
  if (!address || !bytes)
    return failed(ncclInvalidArgument, "ncclMemAlloc of no bytes");
  CUdeviceptr raw = 0, begin = 0;
  if (CUresult result = allocatePage(bytes, raw, begin))
    return failed(ncclUnhandledCudaError,
                  "ncclMemAlloc of " + std::to_string(bytes) +
                      " bytes: the driver answers " + std::to_string(result));
  std::lock_guard lock(mutex);
  allocations[begin] = {raw, bytes};
  *address = reinterpret_cast<void *>(begin);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *address) {
  auto begin = reinterpret_cast<CUdeviceptr>(address);
  CUdeviceptr raw;
  {
    std::lock_guard lock(mutex);
    auto found = allocations.find(begin);
    if (found == allocations.end())
      return failed(ncclInvalidArgument,
                    "ncclMemFree of what ncclMemAlloc did not give");
    for (ncclWindow_t window : windows)
      if (window->begin < begin + found->second.bytes &&
          begin < window->begin + window->bytes)
        finding("ncclMemFree of memory that a window is registered on");
    raw = found->second.raw;
    allocations.erase(found);
  }
  if (CUresult result = cuMemFree_v2(raw))
    return failed(ncclUnhandledCudaError,
                  "ncclMemFree: the driver answers " + std::to_string(result));
  return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes,
                                    ncclWindow_t *window, int flags) {
  if (!comm || !buffer || !bytes || !window ||
      (flags & ~NCCL_WIN_COLL_SYMMETRIC))
    return failed(ncclInvalidArgument,
                  "ncclCommWindowRegister: a null pointer, no bytes, or a flag "
                  "that is not known here");
  std::shared_ptr<ncclComm> self = living(comm, "ncclCommWindowRegister");
  auto begin = reinterpret_cast<CUdeviceptr>(buffer);
  CallSummary summary;
  summary.kind = uint32_t(Kind::WindowRegister), summary.op = flags;
  summary.count = bytes, summary.position = ++self->hostCalls;
  std::string who =
      "ncclCommWindowRegister of " + std::to_string(bytes) + " bytes";
  {
    std::lock_guard lock(mutex);
    auto *allocation = allocationOf(begin, bytes);
    if (!allocation)
      finding(self->describe() + ": " + who +
              " that are not all in one allocation of ncclMemAlloc");
    if (flags & NCCL_WIN_COLL_SYMMETRIC) {
      summary.offset = begin - allocation->first;
      who += " at offset " + std::to_string(summary.offset);
      if (summary.offset % pageBytes)
        finding(self->describe() + ": " + who +
                ", which is no multiple of 4096");
    }
  }
  std::strncpy(summary.text, who.c_str(), sizeof(summary.text) - 1);
  // A second time, since what was said must stay until all have read it.
  if (!self->agree(Lane::Host, summary) || !self->meet(Lane::Host))
    return failed(self->asyncError(), self->asyncErrorText());
  *window = new ncclWindow_vidmem{comm, begin, bytes};
  std::lock_guard lock(mutex);
  windows.insert(*window);
  return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  living(comm, "ncclCommWindowDeregister");
  std::lock_guard lock(mutex);
  if (!windows.contains(window) || window->comm != comm)
    finding("ncclCommWindowDeregister of a window that the communicator does "
            "not have");
  windows.erase(window);
  delete window;
  return ncclSuccess;
}

} // extern "C"

} // namespace shardc::test::cuda

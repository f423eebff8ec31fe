// Memory of NCCL's own, and windows onto it.
#include "test/emulated-cuda/nccl/Windows.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace shardc::test::cuda {
namespace {

constexpr size_t pageBytes = 4096;

std::mutex mutex;
/// Bytes of allocations, by their first one.
auto &allocations = *new std::map<CUdeviceptr, size_t>();
auto &windows = *new std::set<ncclWindow_t>();

/// The allocation of ncclMemAlloc that has all the bytes, or null.
const std::pair<const CUdeviceptr, size_t> *allocationOf(CUdeviceptr begin,
                                                         size_t bytes) {
  auto next = allocations.upper_bound(begin);
  if (next == allocations.begin())
    return nullptr;
  auto &found = *std::prev(next);
  return begin + bytes <= found.first + found.second ? &found : nullptr;
}

/// What the communicator has registered and has all the bytes, or null.
const ncclWindow_vidmem *windowOf(const ncclComm &comm, CUdeviceptr begin,
                                  size_t bytes) {
  for (const ncclWindow_vidmem *window : windows)
    if (window->comm == &comm && begin >= window->begin &&
        begin + bytes <= window->begin + window->bytes)
      return window;
  return nullptr;
}

bool hasWindows(const ncclComm &comm) {
  return std::ranges::any_of(windows, [&](const ncclWindow_vidmem *window) {
    return window->comm == &comm;
  });
}

} // namespace

uint64_t placeInWindows(const ncclComm &comm, const Collective &call) {
  std::lock_guard lock(mutex);
  const auto *sent = windowOf(comm, call.send, call.sendBytes(comm.ranks));
  const auto *received =
      windowOf(comm, call.receive, call.receiveBytes(comm.ranks));
  if (!sent || !received || !call.count) {
    if (call.count && comm.ctaPolicy == NCCL_CTA_POLICY_ZERO &&
        hasWindows(comm))
      finding(comm.describe() + ": " + call.describe() + ": what it " +
              (sent ? "receives" : "sends") +
              " lies in no window, so that it would take CTAs");
    return 0;
  }
  // Gathers write to other ranks' memory, sums read it.
  bool gathers = call.kind == Kind::AllGather || call.kind == Kind::AlltoAll;
  CUdeviceptr address = gathers ? call.receive : call.send;
  return address - allocationOf(address, 1)->first + 1;
}

void forgetWindows(const ncclComm &comm, bool wasAborted) {
  std::lock_guard lock(mutex);
  if (!wasAborted && hasWindows(comm))
    finding(comm.describe() + " is destroyed, and has windows");
  std::erase_if(windows, [&](const ncclWindow_vidmem *window) {
    return window->comm == &comm;
  });
}

extern "C" {

ncclResult_t ncclMemAlloc(void **address, size_t bytes) {
  if (!address || !bytes)
    return failed(ncclInvalidArgument, "ncclMemAlloc of no bytes");
  CUdeviceptr begin = 0;
  if (CUresult result = allocatePages("ncclMemAlloc", bytes, &begin))
    return failed(ncclUnhandledCudaError,
                  "ncclMemAlloc of " + std::to_string(bytes) +
                      " bytes: the driver answers " + std::to_string(result));
  std::lock_guard lock(mutex);
  allocations[begin] = bytes;
  *address = reinterpret_cast<void *>(begin);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *address) {
  auto begin = reinterpret_cast<CUdeviceptr>(address);
  {
    std::lock_guard lock(mutex);
    auto found = allocations.find(begin);
    if (found == allocations.end())
      return failed(ncclInvalidArgument,
                    "ncclMemFree of what ncclMemAlloc did not give");
    for (ncclWindow_t window : windows)
      if (window->begin < begin + found->second &&
          begin < window->begin + window->bytes)
        finding("ncclMemFree of memory that a window is registered on");
    allocations.erase(found);
  }
  if (CUresult result = cuMemFree_v2(begin))
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
  summary.position = ++self->hostCalls;
  std::string who =
      "ncclCommWindowRegister of " + std::to_string(bytes) + " bytes";
  uint64_t given[] = {begin, bytes};
  std::string what = self->describe() + ": " + who;
  if (isMutated("drop", what))
    return ncclSuccess;
  shiftArguments(what, given, sizeof(given));
  begin = given[0], summary.count = bytes = given[1];
  auto outside = [&] {
    finding(self->describe() + ": " + who +
            " that are not all in one allocation of ncclMemAlloc");
  };
  {
    std::lock_guard lock(mutex);
    auto *allocation = allocationOf(begin, 1);
    if (!allocation)
      outside();
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
  std::lock_guard lock(mutex);
  if (!allocationOf(begin, bytes))
    outside();
  *window = new ncclWindow_vidmem{comm, begin, bytes};
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

// Tables of what is allocated.
#include "Memory.h"

#include "Checks.h"
#include "Settings.h"
#include "test/emulated-cuda/ptx/Thread.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>

namespace shardc::test::cuda {

using ptx::deviceMemory;
using ptx::deviceMemoryBytes;
using ptx::kernelMemoryOffset;

namespace {

constexpr size_t page = 4096;
static_assert(deviceMemoryBytes == 16 * bytesOfDevice);

struct Tables {
  std::shared_mutex mutex;
  std::map<CUdeviceptr, Allocation> allocations;
  struct {
    uint64_t next = 0;
    size_t inUse = 0;
    unsigned count = 0;
  } devices[16];

  /// That whose begin is not behind the address.
  const Allocation *find(CUdeviceptr address) {
    auto behind = allocations.upper_bound(address);
    if (behind == allocations.begin())
      return nullptr;
    return &std::prev(behind)->second;
  }
};

Tables &tables() {
  // Streams' threads may ask at the very end.
  static Tables *all = new Tables;
  return *all;
}

void *bytesAt(CUdeviceptr address) {
  return reinterpret_cast<void *>(address + kernelMemoryOffset);
}

/// The pages that hold an allocation.
std::pair<CUdeviceptr, size_t> pagesOf(CUdeviceptr begin, size_t bytes) {
  CUdeviceptr first = begin / page * page;
  return {first, (begin + bytes - first + page - 1) / page * page};
}

} // namespace

void reserveDeviceMemory() {
  void *wanted = reinterpret_cast<void *>(deviceMemory);
  void *got = mmap(
      wanted, deviceMemoryBytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted)
    finding("something else lies at the emulated devices' addresses");
}

CUresult allocate(int device, size_t bytes, size_t multiple,
                  CUdeviceptr &address) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::unique_lock lock(tables().mutex);
  auto &of = tables().devices[device];
  if (bytes > settings().bytes || of.inUse > settings().bytes - bytes ||
      of.next + bytes + 3 * page > bytesOfDevice)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Multiples of 256 and of no more, where no more is promised.
  CUdeviceptr begin = deviceMemory + uint64_t(device) * bytesOfDevice +
                      of.next + page + multiple % page;
  auto [first, size] = pagesOf(begin, bytes);
  if (mmap(bytesAt(first), size, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
           -1, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (settings().checked)
    prepareGranules(first, size);
  of.next = first + size - deviceMemory - uint64_t(device) * bytesOfDevice;
  of.inUse += bytes;
  tables().allocations[begin] = {begin, bytes, device, ++of.count, false};
  address = begin;
  return CUDA_SUCCESS;
}

static void free(Allocation &of) {
  auto [first, size] = pagesOf(of.begin, of.bytes);
  munmap(bytesAt(first), size);
  if (settings().checked)
    forgetGranules(first, size);
  tables().devices[of.device].inUse -= of.bytes;
  of.freed = true;
}

CUresult release(CUdeviceptr address) {
  std::unique_lock lock(tables().mutex);
  auto found = tables().allocations.find(address);
  if (found == tables().allocations.end() || found->second.freed)
    return CUDA_ERROR_INVALID_VALUE;
  free(found->second);
  return CUDA_SUCCESS;
}

void releaseAll(int device) {
  std::unique_lock lock(tables().mutex);
  for (auto &[begin, of] : tables().allocations)
    if (of.device == device && !of.freed)
      free(of);
}

size_t bytesInUse(int device) {
  std::shared_lock lock(tables().mutex);
  return tables().devices[device].inUse;
}

std::optional<Allocation> allocationOf(CUdeviceptr address) {
  std::shared_lock lock(tables().mutex);
  const Allocation *found = tables().find(address);
  if (!found || address - found->begin >= found->bytes)
    return std::nullopt;
  return *found;
}

bool isAllocated(CUdeviceptr address, size_t bytes) {
  std::shared_lock lock(tables().mutex);
  const Allocation *found = tables().find(address);
  return found && !found->freed && address - found->begin <= found->bytes &&
         bytes <= found->bytes - (address - found->begin);
}

bool isDeviceAddress(CUdeviceptr address) {
  return address - deviceMemory < deviceMemoryBytes;
}

std::string describeAddress(CUdeviceptr address) {
  if (!isDeviceAddress(address))
    return "address " + std::to_string(address) + ", which is no device's";
  std::shared_lock lock(tables().mutex);
  const Allocation *found = tables().find(address);
  if (!found ||
      (address - deviceMemory) / bytesOfDevice != size_t(found->device))
    return "address " + std::to_string(address) +
           ", where nothing was allocated";
  uint64_t offset = address - found->begin;
  std::string text = "allocation " + std::to_string(found->number) +
                     " of device " + std::to_string(found->device) + " (" +
                     std::to_string(found->bytes) + " bytes" +
                     (found->freed ? ", freed" : "") + ") at ";
  if (offset >= found->bytes)
    return text + std::to_string(offset - found->bytes) + " behind its end";
  return text + std::to_string(offset);
}

} // namespace shardc::test::cuda

// What a guarded device allocates and copies; its programs are in
// GuardedProgram.cpp.
#include "test/runtime/device/GuardedDevice.h"

#include "runtime/base/Error.h"
#include "test/runtime/device/GuardedMemory.h"
#include "test/runtime/device/GuardedProgram.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

/// Who wrote what no entry has.
static const std::string uploaded = "an upload", zeroed = "the allocation";

GuardedDevice::GuardedDevice(const plan::Plan &plan,
                             const KernelLibrary &kernels,
                             Communicator &communicator, uint64_t seed)
    : communicator(communicator), seed(seed),
      processor(std::make_unique<cpu::CpuDevice>(plan, kernels, communicator,
                                                 cpu::CpuOptions{})),
      streams(std::make_unique<Streams>()) {
  // Its threads are those of the stream that computes.
  if (HostRanks *ranks = communicator.hostRanks())
    ranks->helpWith(nullptr);
}

GuardedDevice::~GuardedDevice() {
  communicator.leave(); // ends waits that nobody would answer
  streams.reset();
}

std::byte *GuardedDevice::allocate(const std::string &name, int64_t bytes) {
  if (bytes == 0)
    return nullptr;
  std::unique_ptr<GuardedAllocation> allocation =
      GuardedAllocation::map(name, bytes);
  // The optimizer's state and padding begin as zeros; nothing else is read
  // before it is written.
  bool counts = name == "persistent" || name == "metrics" || name == "host";
  allocation->writers.resize(bytes, counts ? &zeroed : nullptr);
  allocations.push_back(std::move(allocation));
  return allocations.back()->given;
}

GuardedAllocation &GuardedDevice::allocationOf(const std::byte *begin,
                                               int64_t bytes,
                                               const std::string &what) {
  for (const auto &allocation : allocations)
    if (begin >= allocation->given &&
        begin + bytes <= allocation->given + allocation->bytes)
      return *allocation;
  fail(what, " of ", bytes, " bytes lies in no allocation of the device");
}

void GuardedDevice::upload(std::byte *to, const void *from, int64_t bytes) {
  if (bytes == 0)
    return;
  settle();
  GuardedAllocation &allocation = allocationOf(to, bytes, "an upload");
  std::memcpy(allocation.inside + (to - allocation.given), from, bytes);
  std::fill_n(allocation.writers.begin() + (to - allocation.given), bytes,
              &uploaded);
}

void GuardedDevice::download(void *to, const std::byte *from, int64_t bytes) {
  if (bytes == 0)
    return;
  settle();
  GuardedAllocation &allocation = allocationOf(from, bytes, "a download");
  std::memcpy(to, allocation.inside + (from - allocation.given), bytes);
}

std::unique_ptr<DeviceProgram> GuardedDevice::newProgram() {
  return std::make_unique<GuardedProgram>(*this);
}

void GuardedDevice::settle() {
  streams->communication.settle();
  streams->compute.settle();
}

DeviceFactory guardedDevices(const plan::Plan &plan,
                             const KernelLibrary &kernels, uint64_t seed) {
  return [&plan, &kernels, seed](Communicator &communicator) {
    return std::make_unique<GuardedDevice>(plan, kernels, communicator, seed);
  };
}

} // namespace shardc::runtime

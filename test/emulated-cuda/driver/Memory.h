// Allocations of the emulated devices. The bytes of a device's memory lie where
// code of kernels looks for them (ptx/Thread.h), and nothing is at the addresses
// that the host sees.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_MEMORY_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_MEMORY_H

#include "Work.h"

#include <optional>
#include <string>

namespace shardc::test::cuda {

struct Allocation {
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  int device = 0;
  unsigned number = 0; // from 1 on, in the order of cuMemAlloc on the device
  bool freed = false;
};

/// Addresses of a device: the first is deviceMemory + its ordinal times this.
inline constexpr uint64_t bytesOfDevice = uint64_t(1) << 38;

/// Reserves the addresses; finds it where something else lies there.
void reserveDeviceMemory();

/// At a multiple of 256 or of 4096. Fails with CUDA_ERROR_OUT_OF_MEMORY,
/// _INVALID_VALUE.
CUresult allocate(int device, size_t bytes, size_t multiple,
                  CUdeviceptr &address);
/// Its addresses are never given again.
CUresult release(CUdeviceptr address);
/// What the device still has.
void releaseAll(int device);
size_t bytesInUse(int device);

/// That which holds the address, also where it was freed.
std::optional<Allocation> allocationOf(CUdeviceptr address);
/// Whether all bytes lie in one that is not freed.
bool isAllocated(CUdeviceptr address, size_t bytes);
bool isDeviceAddress(CUdeviceptr address);
/// "allocation 3 of device 0 (4096 bytes) at 128", for messages.
std::string describeAddress(CUdeviceptr address);

} // namespace shardc::test::cuda

#endif

// Where a run's devices come from: one of these is chosen in main.cpp.
#ifndef SHARDC_RUNTIME_DEVICE_PLATFORM_H
#define SHARDC_RUNTIME_DEVICE_PLATFORM_H

#include "runtime/device/Device.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardc::runtime {

struct DeviceOptions {
  int workers = 1; // threads of the rank, the calling one included
  /// Waiting threads spin: right where ranks * workers <= usableCores().
  bool spin = false;
  /// The seconds of the GEMM library are measured.
  bool gemmClock = false;
};

class Platform {
public:
  virtual ~Platform() = default;
  /// Throws an Error where the plan is for other devices, or this machine lacks
  /// what its kernels need.
  virtual void check(const plan::Plan &plan) const = 0;
  /// Memory that a thread takes besides the plan's.
  virtual int64_t bytesPerThread() const = 0;
  /// Loads the kernels, which live as long as the platform. `section`: of the
  /// trainer's file.
  virtual DeviceFactory devices(const plan::Plan &plan,
                                std::span<const std::byte> section,
                                const DeviceOptions &options) = 0;
};

} // namespace shardc::runtime

#endif

// One GPU, held by a rank: its primary context, and what it can do.
#ifndef SHARDC_RUNTIME_CUDA_CONTEXT_H
#define SHARDC_RUNTIME_CUDA_CONTEXT_H

#include "runtime/cuda/Libraries.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <string>

namespace shardc::runtime::cuda {

/// 90 of compute capability 9.0.
int capabilityOf(const Driver &driver, CUdevice device);
/// Throws an Error where the device is too old for the plan.
void requireCapability(const Driver &driver, CUdevice device,
                       const plan::Plan &plan);
/// "NVIDIA H200"
std::string modelOf(const Driver &driver, CUdevice device);
/// "NVIDIA H200 (0000:1b:00.0)"
std::string nameOf(const Driver &driver, CUdevice device);

class Context {
public:
  /// Retains the context of the device `ordinal`, and makes it the calling
  /// thread's. Throws an Error where there is no such device.
  Context(const Libraries &libraries, int ordinal);
  ~Context();
  Context(const Context &) = delete;

  /// Makes it the calling thread's.
  void use() const;
  int attribute(CUdevice_attribute attribute) const;
  std::string describe() const { return nameOf(driver, device); }
  int64_t freeBytes() const;
  int64_t totalBytes() const;

  const Libraries &libraries;
  const Driver &driver;
  const int ordinal;
  CUdevice device = 0;
  int capability = 0; // see capabilityOf
  int multiprocessors = 0;

private:
  CUcontext context = nullptr;
};

} // namespace shardc::runtime::cuda

#endif

// Where a run's devices come from: main.cpp has one for each kind of target.
#ifndef SHARDC_RUNTIME_DEVICE_PLATFORM_H
#define SHARDC_RUNTIME_DEVICE_PLATFORM_H

#include "runtime/device/Device.h"
#include "runtime/device/DeviceTraits.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace shardc::runtime {

/// How devices with a library for collectives add up what ranks bring.
enum class Reduce {
  Ordered, // first rank first, as processors do
  Nccl,    // as NCCL does
};

/// Who computes attention on devices with a library for it.
enum class AttentionBy {
  Auto, // the library where it can in the plan's memory, to equal bits in every
        // run; else own kernels
  Own,  // own kernels
  Cudnn, // the library, or nothing runs
};

struct DeviceOptions {
  int workers = 1; // threads of the rank, the calling one included
  /// Waiting threads spin: right where ranks * workers <= usableCores().
  bool spin = false;
  /// The seconds of the GEMM library are measured.
  bool gemmClock = false;
  /// Where devices have numbers on a host: that of the process's first rank.
  int firstDevice = 0;
  /// A GPU's micro-batches are launched as graphs.
  bool cudaGraph = true;
  Reduce reduce = Reduce::Ordered;
  AttentionBy attention = AttentionBy::Auto;
  /// Gets lines for the reader of the run, of what the first rank's device chose.
  std::function<void(const std::string &line)> say;
  /// The file of which algorithm a GPU's products run; empty: what the library
  /// names first. The process with rank 0 reads it, and writes what it lacks.
  std::string tune = {};
  bool leads = true; // this process has rank 0
  /// Where ranks' files for the pool host are made, on a processor.
  std::string offloadFolder = {};
};

/// What a rank's device reaches.
struct DeviceRates {
  /// Operations per second of matrix products of values of 2, 4 and 8 bytes; a
  /// multiply-add is two.
  double flops16 = 0, flops32 = 0, flops64 = 0;
  double memoryBandwidth = 0; // bytes per second, reads and writes together
  double memory = 0;          // bytes
};

/// To make one, and to ask for traits(), checkTarget(), deviceCount() and
/// bytesPerThread(), takes no device, and no driver.
class Platform {
public:
  virtual ~Platform() = default;
  virtual DeviceTraits traits(const plan::Plan &plan) const = 0;
  /// Throws an Error unless what the plan says to these devices alone belongs to
  /// the rest of it. That has been checked (engine/CheckPlan.h).
  virtual void checkTarget(const plan::Plan &plan) const = 0;
  /// Ranks of this process that can have a device of this machine which runs
  /// the plan, one each; 0 also where what drives devices is not there or too
  /// old. The largest int where ranks share what there is.
  virtual int deviceCount(const plan::Plan &plan) const = 0;
  /// Whether a rank is a process of its own where nobody says otherwise: what
  /// happens to its device is then no other rank's.
  virtual bool wantsProcesses() const { return false; }
  /// Throws an Error where this machine has less than so many devices that run
  /// the plan, or they less than so many bytes each.
  virtual void requireDevices(const plan::Plan &plan, int64_t count,
                              int64_t bytes) const {}
  /// Throws an Error where the plan is for other devices, or this machine lacks
  /// what its kernels need.
  virtual void check(const plan::Plan &plan) const = 0;
  /// Memory that a thread takes besides the plan's.
  virtual int64_t bytesPerThread() const = 0;
  /// Measures, for part of a second, what one rank reaches with these options
  /// and a device of its own. Called by all ranks at once, which share what there
  /// is: `ranksPerHost` of them a host.
  virtual DeviceRates measure(Device &device, const DeviceOptions &options,
                              int64_t ranksPerHost) const = 0;
  /// Loads the kernels, which live as long as the platform. `section`: of the
  /// trainer's file.
  virtual DeviceFactory devices(const plan::Plan &plan,
                                std::span<const std::byte> section,
                                const DeviceOptions &options) = 0;
};

/// Makes the platform that a plan was compiled for. Throws an Error where the
/// runtime has none.
using PlatformFactory =
    std::function<std::unique_ptr<Platform>(const plan::Plan &plan)>;

} // namespace shardc::runtime

#endif

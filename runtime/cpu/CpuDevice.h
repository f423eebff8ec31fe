// The device that is this machine's processor: memory of the host, threads, and
// entries that run one after the other on the calling thread.
#ifndef SHARDC_RUNTIME_CPU_CPUDEVICE_H
#define SHARDC_RUNTIME_CPU_CPUDEVICE_H

#include "runtime/base/Memory.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/KernelLibrary.h"
#include "runtime/cpu/Transfers.h"
#include "runtime/device/Device.h"
#include "runtime/device/Platform.h"
#include "runtime/device/Tickets.h"

#include <memory>
#include <vector>

namespace shardc::runtime::cpu {

using CpuOptions = DeviceOptions;

class CpuDevice final : public Device {
public:
  /// `kernels` and `communicator` must outlive the device, `plan` too: it says
  /// what the kernels' extents are, and how many threads workspaces are for.
  CpuDevice(const plan::Plan &plan, const KernelLibrary &kernels,
            Communicator &communicator, const CpuOptions &options);
  ~CpuDevice() override;

  std::byte *allocate(const std::string &name, int64_t bytes) override;
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override {
    return allocate(name, bytes);
  }
  std::byte *allocateShared(Communicator &group, const std::string &name,
                            int64_t bytes) override;
  /// Makes the rank's file.
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return transfers.allocate(name, bytes);
  }
  /// Lets the threads that will work on the pages be the first to touch them.
  void touch(std::byte *begin, int64_t bytes) override;
  void upload(std::byte *to, const void *from, int64_t bytes) override;
  void download(void *to, const std::byte *from, int64_t bytes) override;
  std::unique_ptr<DeviceProgram> newProgram() override;
  void settle() override {}
  void
  onHost(int64_t extent, int64_t grain,
         const std::function<void(int64_t begin, int64_t end)> &body) override;

  // Bound entries read these.
  const plan::Plan &plan;
  const KernelLibrary &kernels;
  ThreadPool pool;
  Tickets tickets;
  StepNumbers numbers; // of the micro-batch that runs
  /// Ranks that help with this one's collectives may use these until it leaves.
  std::vector<std::shared_ptr<ResultReader>> readers;

private:
  Communicator &communicator;
  std::vector<Memory> memories;
  std::vector<std::shared_ptr<Memory>> blocks; // that ranks share

public:
  Transfers transfers; // it ends before the memory that it works on
};

/// A factory of such devices, which are the same for each rank but for its
/// communicator.
DeviceFactory cpuDevices(const plan::Plan &plan, const KernelLibrary &kernels,
                         const CpuOptions &options);

} // namespace shardc::runtime::cpu

#endif

// A device that shows what an engine may not do: its memory cannot be touched
// by the host, its work runs later, and it knows of every byte who wrote it.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_GUARDEDDEVICE_H
#define SHARDC_TEST_RUNTIME_DEVICE_GUARDEDDEVICE_H

#include "runtime/cpu/CpuDevice.h"
#include "test/runtime/device/Stream.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

struct GuardedAllocation;

/// Memory is mapped twice. The addresses that are given out can be neither read
/// nor written: a host that tries is ended with a message that names the
/// allocation. The device itself works on the other mapping.
///
/// Before anything runs, each entry is held against what is under way: reading
/// what was never written, touching what an open collective reads or writes,
/// leaving an allocation are errors that name the operand, the entry and, where
/// there is one, the other entry.
///
/// Entries run on a thread of their own, collectives on another: a collective
/// begins at some time between its start and its wait that `seed` draws, the
/// same on all ranks.
class GuardedDevice final : public Device {
public:
  GuardedDevice(const plan::Plan &plan, const KernelLibrary &kernels,
                Communicator &communicator, uint64_t seed);
  ~GuardedDevice() override;

  std::byte *allocate(const std::string &name, int64_t bytes) override;
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override {
    return allocate(name, bytes);
  }
  /// Ranks do not work on one memory.
  std::byte *allocateShared(Communicator &, const std::string &,
                            int64_t) override {
    return nullptr;
  }
  /// As all memory of the device; entries are held to transfers by the engine.
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return allocate(name, bytes);
  }
  void touch(std::byte *, int64_t) override {}
  void upload(std::byte *to, const void *from, int64_t bytes) override;
  void download(void *to, const std::byte *from, int64_t bytes) override;
  std::unique_ptr<DeviceProgram> newProgram() override;
  void settle() override;
  void
  onHost(int64_t extent, int64_t grain,
         const std::function<void(int64_t begin, int64_t end)> &body) override {
    body(0, extent);
  }

  /// The allocation that [begin, begin + bytes) lies in. Throws an Error with
  /// `what` where there is none.
  GuardedAllocation &allocationOf(const std::byte *begin, int64_t bytes,
                                  const std::string &what);

private:
  friend class GuardedProgram;
  /// Of entries that compute, and of collectives.
  struct Streams {
    Stream compute, communication;
  };
  Communicator &communicator;
  uint64_t seed;
  std::unique_ptr<cpu::CpuDevice> processor;
  std::vector<std::unique_ptr<GuardedAllocation>> allocations;
  std::unique_ptr<Streams> streams;
};

DeviceFactory guardedDevices(const plan::Plan &plan,
                             const KernelLibrary &kernels, uint64_t seed);

} // namespace shardc::runtime

#endif

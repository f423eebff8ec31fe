// What is checked of each access of a device's memory: that it is allocated, has
// been written before it is read, and is ordered behind what touched it before.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_CHECKS_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_CHECKS_H

#include "Memory.h"
#include "Task.h"
#include "test/emulated-cuda/ptx/Loader.h"

namespace shardc::test::cuda {

/// What is known of four bytes of a device's memory. Both are a task's number,
/// times 16, plus which of the bytes it is about.
struct Granule {
  /// The last that wrote, and the bytes that were ever written.
  uint32_t writer;
  /// Those that read since: one, or with the highest bit set a group of them.
  uint32_t readers;
};
static_assert(sizeof(Granule) == ptx::granuleBytes);

void reserveGranules();
/// Nothing is known of them from here on.
void forgetGranules(CUdeviceptr begin, size_t bytes);
/// Gives pages to what will be known of an allocation, if it is large huge ones
/// as they are touched: of pages that come one by one, and are read before they
/// are written, each costs two faults and stops all threads.
void prepareGranules(CUdeviceptr begin, size_t bytes);

/// "'copy4' in stream 2 of device 0".
std::string describeTask(uint32_t task);

/// Of what a task touches, while it runs on a stream's thread.
class AccessCheck {
public:
  AccessCheck(const Task &task, int device,
              const ptx::LoadedKernel *kernel = nullptr);

  /// Finds what is wrong with an access to memory of the device.
  void check(CUdeviceptr begin, size_t bytes, bool reads, bool writes);
  /// ptx::Services::access; its user is an AccessCheck.
  /// Of its granules, ptx::Thread::tag.
  uint32_t tag() const { return own; }
  static void *access(ptx::Thread *thread, uint64_t address, uint32_t kind,
                      const char *statement);

private:
  void read(Granule &granule, uint32_t mask);
  void write(Granule &granule, uint32_t mask);
  /// `known`: a task that is, for the next time.
  bool isBefore(uint32_t task, uint32_t &known);
  /// A task of the readers that is not ordered before; 0: all are.
  uint32_t unorderedReader(uint32_t readers);
  uint32_t withReader(uint32_t readers);
  void checkAllocated(const Granule &granule);
  void *foreign(ptx::Thread *thread, uint64_t address, uint32_t kind,
                const char *statement);
  [[noreturn]] void race(const Granule &granule, uint32_t other,
                         const char *does, const char *did);
  [[noreturn]] void wrong(const std::string &what, CUdeviceptr address);

  const Task &task;
  const ptx::LoadedKernel *kernel;
  const CUdeviceptr deviceBegin;
  const uint32_t own;                            // number * 16
  uint32_t orderedWriter = 0, orderedReader = 0; // see isBefore
  Allocation allocation;                         // that was looked up last
  uint32_t groupBefore = 0, groupWith = 0;       // of withReader
  const char *statement = nullptr;
};

} // namespace shardc::test::cuda

#endif

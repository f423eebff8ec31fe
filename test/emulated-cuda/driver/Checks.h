// What is checked of each access of a device's memory: that it is allocated, has
// been written before it is read, and is ordered behind what touched it before.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_CHECKS_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_CHECKS_H

#include "Task.h"

namespace shardc::test::cuda {

/// "'copy4' in stream 2 of device 0".
std::string describeTask(uint32_t task);

/// Of what a kernel touches, while it runs on a stream's thread.
class AccessCheck {
public:
  explicit AccessCheck(const Running &with)
      : task(with.task), device(with.device) {}

  /// ptx::Services::access; its user is an AccessCheck.
  static void *access(ptx::Thread *thread, uint64_t address, uint32_t kind,
                      const char *statement);

private:
  const Task &task;
  int device;
};

} // namespace shardc::test::cuda

#endif

// Checks of accesses, by tables beside the memory.
#include "Checks.h"

#include "Findings.h"
#include "Memory.h"
#include "Settings.h"
#include "Stream.h"
#include "test/emulated-cuda/ptx/Thread.h"

#include <deque>
#include <shared_mutex>

namespace shardc::test::cuda {

namespace {

struct TaskFacts {
  std::shared_ptr<const Action> action;
  uint32_t place, time;
};

std::deque<TaskFacts> &taskTable() {
  static auto *all = new std::deque<TaskFacts>;
  return *all;
}

} // namespace

void registerTask(Task &task, uint32_t place, uint32_t time) {
  taskTable().push_back({task.action, place, time});
  task.number = uint32_t(taskTable().size() + 1);
}

std::string describeTask(uint32_t task) {
  std::lock_guard lock(driverMutex);
  const TaskFacts &of = taskTable()[task - 2];
  return "'" + of.action->name + "' in stream " + std::to_string(of.place);
}

void *AccessCheck::access(ptx::Thread *thread, uint64_t address, uint32_t kind,
                          const char *statement) {
  return reinterpret_cast<void *>(
      isDeviceAddress(address) ? address + ptx::kernelMemoryOffset : address);
}

void checkAccesses(const Task &task, int device) {
  for (const Access &access : task.action->accesses)
    for (size_t row = 0; row < access.rows; ++row)
      if (CUdeviceptr begin = access.begin + row * access.stride;
          !isAllocated(begin, access.rowBytes))
        finding(describeTask(task.number) +
                " touches what is not allocated: " + describeAddress(begin));
}

} // namespace shardc::test::cuda

// What streams do: actions, and tasks, which are an action that was enqueued
// once.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_TASK_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_TASK_H

#include "Clock.h"
#include "Pinned.h"
#include "Work.h"
#include "test/emulated-cuda/ptx/Blocks.h"

#include <memory>

namespace shardc::test::cuda {

struct Task;

/// On a stream's thread.
struct Running {
  const Task &task;
  ptx::Blocks &blocks;
  int device;
};

struct Action {
  std::string name; // a kernel's, or of what it is: "copy of 16 bytes to ..."
  /// What `run` touches, other than a kernel, which says it as it runs.
  std::vector<Access> accesses;
  std::function<CUresult(Running &)> run;
  HostRange host = {};
};

struct Task {
  std::shared_ptr<const Action> action;
  /// From 1 on; accesses are remembered by it.
  uint32_t number = 0;
  /// What was ordered before it, and itself, when it was enqueued.
  Clock clock;
};

/// Gives the task its number, and remembers its name, stream and time.
void registerTask(Task &task, uint32_t place, uint32_t time, int device);
/// Checks what the action says that it touches.
void checkAccesses(const Task &task, int device);

} // namespace shardc::test::cuda

#endif

// Workers wait for the epoch to rise: they spin a little where they own a core,
// then sleep in the kernel.
#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <sched.h>

using namespace shardc::runtime;

// About 20 to 50 microseconds: longer than the serial gaps between two entries
// of a step, shorter than a time slice.
static constexpr int spinRounds = 2000;

static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int shardc::runtime::usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(int workers, bool spin)
    : workerCount(std::max(1, workers)), spin(spin) {
  for (int worker = 1; worker < workerCount; ++worker)
    threads.emplace_back([this, worker] { workerLoop(worker); });
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  epoch.fetch_add(1);
  epoch.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadPool::runRange(int index) {
  int64_t size = taskExtent / taskRanges, larger = taskExtent % taskRanges;
  int64_t begin = index * size + std::min<int64_t>(index, larger);
  int64_t end = begin + size + (index < larger ? 1 : 0);
  task(taskContext, begin, end, index);
}

void ThreadPool::runRanges(int64_t extent, int64_t grain,
                           RangeFunction function, void *context) {
  if (extent <= 0)
    return;
  int64_t ranges =
      std::clamp<int64_t>(extent / std::max<int64_t>(1, grain), 1, workerCount);
  if (ranges == 1) {
    function(context, 0, extent, 0);
    return;
  }
  task = function;
  taskContext = context;
  taskExtent = extent;
  taskRanges = static_cast<int>(ranges);
  // Every worker reports back, also one that has no range: only then may the
  // task's fields be written again.
  pending.store(static_cast<uint32_t>(workerCount - 1),
                std::memory_order_relaxed);
  epoch.fetch_add(1);
  epoch.notify_all();
  runRange(0);
  uint32_t left;
  for (int round = 0; (left = pending.load(std::memory_order_acquire)) != 0;
       ++round) {
    if (spin && round < spinRounds)
      relax();
    else
      pending.wait(left, std::memory_order_acquire);
  }
}

void ThreadPool::workerLoop(int worker) {
  uint32_t seen = 0;
  while (true) {
    for (int round = 0; epoch.load(std::memory_order_acquire) == seen;
         ++round) {
      if (spin && round < spinRounds)
        relax();
      else
        epoch.wait(seen, std::memory_order_acquire);
    }
    // One task at a time: the epoch cannot have risen by more than one.
    ++seen;
    if (stopping.load())
      return;
    if (worker < taskRanges)
      runRange(worker);
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      pending.notify_one();
  }
}

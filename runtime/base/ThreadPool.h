// A rank's own threads: fork and join over ranges of independent work items.
// The thread that calls is worker 0. Which work items a kernel has, and why
// they are independent, is the kernel's business.
#ifndef SHARDC_RUNTIME_BASE_THREADPOOL_H
#define SHARDC_RUNTIME_BASE_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace shardc::runtime {

/// Processors that this process may use (its affinity mask).
int usableCores();

class ThreadPool {
public:
  /// `workers` >= 1 threads, the caller included. `spin`: waiting threads burn
  /// their core for a short while before they sleep; right only where every
  /// thread of the process has a core of its own.
  ThreadPool(int workers, bool spin);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int workers() const { return workerCount; }

  /// Cuts [0, extent) into contiguous ranges, at most one per worker and each
  /// of at least `grain` work items, and calls body(begin, end, worker) on
  /// each; returns when all are done. Ranges are equal up to one work item.
  template <typename Body>
  void forRanges(int64_t extent, int64_t grain, Body &&body) {
    using Plain = std::remove_reference_t<Body>;
    runRanges(
        extent, grain,
        [](void *context, int64_t begin, int64_t end, int worker) {
          (*static_cast<Plain *>(context))(begin, end, worker);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  }

  /// Calls body(item, worker) for every work item in [0, extent). Workers take
  /// the next one when they are free, which suits work items of unequal cost.
  /// At most `limit` workers take part (as many as have scratch memory, for
  /// instance).
  template <typename Body>
  void forItems(int64_t extent, int limit, Body &&body) {
    std::atomic<int64_t> next{0};
    int64_t takers = extent < limit ? extent : limit;
    forRanges(takers < workerCount ? takers : workerCount, 1,
              [&](int64_t, int64_t, int worker) {
                for (int64_t item;
                     (item = next.fetch_add(1, std::memory_order_relaxed)) <
                     extent;)
                  body(item, worker);
              });
  }

private:
  using RangeFunction = void (*)(void *, int64_t, int64_t, int);
  void runRanges(int64_t extent, int64_t grain, RangeFunction function,
                 void *context);
  void workerLoop(int worker);
  void runRange(int index);

  // The present task is written before `epoch` is raised, and read after it was
  // seen raised.
  RangeFunction task = nullptr;
  void *taskContext = nullptr;
  int64_t taskExtent = 0;
  int taskRanges = 0;

  int workerCount;
  bool spin;
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<uint32_t> pending{0};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
};

} // namespace shardc::runtime

#endif

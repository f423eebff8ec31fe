// What Blocks is made of: fibers of the threads of a block.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_BLOCKSIMPL_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_BLOCKSIMPL_H

#include "Blocks.h"
#include "SharedChecks.h"
#include "SwitchFiber.h"

#include <algorithm>
#include <sys/mman.h>
#include <vector>

namespace shardc::test::ptx {

inline constexpr size_t warpSize = 32;

enum class State : uint8_t { Ready, Barrier, Warp, Ended };

struct LaterCopy {
  void *to;
  const void *from;
  uint32_t bytes, given;
  size_t group;
};

struct Fiber : Thread {
  State state = State::Ready;
  Blocks *blocks = nullptr;
  void *impl = nullptr;
  void *at = nullptr;    // its stack, while it does not run
  Fiber *next = nullptr; // of its warp, in the order in which they run
  char *stack = nullptr;
  // What it waits for.
  WarpOp op = WarpOp::Meet;
  uint32_t mask = 0, barrier = 0, barrierThreads = 0;
  const uint32_t *in = nullptr;
  uint32_t *out = nullptr;
  const char *statement = "";
  std::vector<LaterCopy> copies;
  size_t group = 0; // cp.async's, which is open
  SharedTime time;
};

struct Blocks::Impl {
  std::vector<std::unique_ptr<Fiber>> fibers;
  size_t stackBytes = 64 * 1024;
  // Between stacks, whose ends would else share a few lines of the caches.
  static constexpr size_t stackGap = 17 * 64;
  std::vector<std::pair<void *, size_t>> maps;
  void *scheduler = nullptr;
  std::string problem;
  bool stale = false; // fibers that did not come to their end
  SharedChecks checks;
  uint32_t latest = 0; // of all threads' times
  // The run
  Kernel kernel = nullptr;
  const void *parameters = nullptr;
  Grid grid;
  void *user = nullptr;
  Services services;
  size_t threads = 1, firstBlock = 0, endBlock = 1;
  std::vector<char> sharedMemory;
  char *shared = nullptr;

  ~Impl() { unmap(); }
  void unmap() {
    for (auto [at, bytes] : maps)
      munmap(at, bytes);
    maps.clear();
    fibers.clear();
  }

  void prepare(size_t count, size_t localBytes);

  static void start(Fiber &fiber);

  /// Each time round is a block.
  static void enter(Fiber *fiber);

  /// What is the same in all blocks of a run.
  void begin(Fiber &fiber);
  void place(Fiber &fiber, size_t block);
  void number(Fiber &fiber, size_t thread) {
    fiber.time.thread = uint32_t(thread);
    fiber.tid[0] = uint32_t(thread % grid.threads[0]);
    fiber.tid[1] = uint32_t(thread / grid.threads[0] % grid.threads[1]);
    fiber.tid[2] = uint32_t(thread / grid.threads[0] / grid.threads[1]);
  }

  void oneByOne(Fiber &fiber);

  /// For a block that begins.
  void clearShared() {
    if (grid.checksShared)
      checks.begin(shared, sharedMemory.size() - 128);
    ++latest;
    // Nobody relies on what it holds.
    std::fill(sharedMemory.begin(), sharedMemory.end(), char(0xa5));
  }

  /// Until it and those of its warp that are ready behind it wait or have ended.
  void resume(Fiber &fiber) { shardcSwitchFiber(&scheduler, fiber.at); }

  void runWaiting(size_t block);

  /// Runs a warp until all of it waits for other warps, or has ended.
  bool runWarp(size_t warp);

  /// Lets those lanes go on that have all come to the same operation.
  bool meet(size_t begin, size_t end);

  bool releaseBarriers();

  /// Nobody can go on: the first that waits, and the first that it lacks.
  void explain();

  // What kernels call.
  static Fiber &of(Thread *thread) { return *static_cast<Fiber *>(thread); }
  static void wait(Fiber &fiber, State state) {
    fiber.state = state;
    auto *impl = static_cast<Impl *>(fiber.impl);
    Fiber *next = impl->problem.empty() ? fiber.next : nullptr;
    while (next && next->state != State::Ready)
      next = next->next;
    shardcSwitchFiber(&fiber.at, next ? next->at : impl->scheduler);
  }
  static void barrierOf(Thread *thread, uint32_t number, uint32_t count,
                        const char *statement);
  static void warpOf(Thread *thread, WarpOp op, uint32_t mask,
                     const uint32_t *in, uint32_t *out, const char *statement);
  static void copyLater(Thread *thread, void *to, const void *from,
                        uint32_t bytes, uint32_t given) {
    Fiber &fiber = of(thread);
    fiber.copies.push_back(
        {to, from, bytes, std::min(given, bytes), fiber.group});
  }
  static void commitCopies(Thread *thread) { ++of(thread).group; }
  static void awaitCopies(Thread *thread, uint32_t groups);
  static void sharedOf(Thread *thread, uint64_t address, uint32_t kind,
                       const char *statement);
  [[gnu::noinline]] static void checkShared(Thread *thread, uint64_t address,
                                            uint32_t kind,
                                            const char *statement);
  static void misaligned(Thread *thread, const char *statement) {
    Blocks::end(thread, std::string("misaligned access: ") + statement);
  }
  static void trap(Thread *thread, const char *statement) {
    Blocks::end(thread, std::string("trap: ") + statement);
  }

  std::string run(Kernel function, const void *given, const Grid &shape,
                  size_t first, size_t end, Access access, void *userData);
};

} // namespace shardc::test::ptx

#endif

// Runs the blocks of a grid, thread by thread: threads that wait for each other
// are fibers, the others run one after the other.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_BLOCKS_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_BLOCKS_H

#include "Thread.h"

#include <cstddef>
#include <memory>
#include <string>

namespace shardc::test::ptx {

struct Grid {
  uint32_t blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
  uint32_t sharedBytes = 0, dynamicSharedBytes = 0, localBytes = 0;
  bool waits = true;
  /// The last thread of a block runs first.
  bool backwards = false;
  uint32_t tag = 0; // Thread::tag
  /// Accesses of shared memory that no barrier orders are found.
  bool checksShared = true;
};

/// To be used by one thread of the host at a time.
class Blocks {
public:
  Blocks();
  ~Blocks();
  Blocks(const Blocks &) = delete;

  using Access = decltype(Services::access);
  /// Returns what went wrong; empty: nothing did. `access`: of checked code,
  /// which finds `user` in the Thread.
  std::string run(Kernel kernel, const void *parameters, const Grid &grid,
                  Access access = nullptr, void *user = nullptr);
  /// One block of it, by its number.
  std::string runBlock(Kernel kernel, const void *parameters, const Grid &grid,
                       size_t block, Access access = nullptr,
                       void *user = nullptr);

  /// Whether the bytes are of the thread's stack or of its block's shared memory.
  static bool isOwn(Thread *thread, uint64_t address, size_t bytes);
  /// Ends the run, which returns `problem`.
  [[noreturn]] static void end(Thread *thread, const std::string &problem);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// What the threads of a warp get from what each brings; null where a lane is
/// not one of `mask`. Returns what is wrong.
std::string warpResult(WarpOp op, uint32_t mask, const uint32_t *const in[32],
                       uint32_t *const out[32]);

} // namespace shardc::test::ptx

#endif

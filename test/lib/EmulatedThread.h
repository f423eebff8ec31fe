// What the code of an emulated kernel knows of the thread that it is.
#ifndef SHARDC_TEST_LIB_EMULATEDTHREAD_H
#define SHARDC_TEST_LIB_EMULATEDTHREAD_H

#include <cstdint>

namespace shardc::test {

/// The layout is fixed: generated code reads it by offsets. The functions may
/// switch to other threads.
struct EmulatedThread {
  int64_t thread = 0, block = 0;
  /// Shared memory of the block.
  void *shared = nullptr;
  /// gpu.barrier, and gpu.shuffle xor of 32 bits.
  void (*barrier)(EmulatedThread *) = nullptr;
  int32_t (*shuffle)(EmulatedThread *, int32_t bits,
                     int32_t distance) = nullptr;
  /// Of a block, and of the grid.
  int64_t threads = 1, blocks = 1;
  /// What the emulator adds is behind.
};

} // namespace shardc::test

#endif

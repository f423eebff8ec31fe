// What threads of a block do to its shared memory: two that touch the same bytes,
// one of them to write, need a barrier between them.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_SHAREDCHECKS_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_SHAREDCHECKS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardc::test::ptx {

/// Where a thread stands: barriers of the block and, between those of its warp
/// alone (bar.warp.sync), that it has come through. Whoever meets goes on with
/// the same numbers, which are larger than all that they had. What is ordered
/// has then a smaller number than what comes behind it; the reverse does not
/// hold of barriers for a part of the block, where a race may go unseen.
struct SharedTime {
  uint32_t thread = 0;
  uint32_t block = 0, warp = 0;
};

class SharedChecks {
public:
  /// The memory of a block, all of whose times are behind those of earlier
  /// blocks.
  void begin(const void *memory, size_t bytes);
  /// Returns what is wrong; empty: nothing. Shuffles and the like are no
  /// barriers: they order nothing in memory. Not looked at: accesses of single
  /// bytes, and threads that write the same constant by the same statement.
  std::string touch(const SharedTime &by, uint64_t address, unsigned bytes,
                    bool reads, bool writes, const char *statement);

private:
  /// Of two bytes. Of readers the last is known, and whether there were others
  /// at its time that a writer would race with.
  struct Cell {
    SharedTime writer, reader;
    const char *write = nullptr, *read = nullptr; // null: nobody did
    bool isAtomic = false;                        // the write
    bool severalWarps = false, severalThreads = false;

    void addReader(const SharedTime &by, const char *statement);
    bool isReadBeside(const SharedTime &by) const;
  };

  uint64_t base = 0;
  std::vector<Cell> cells;
};

} // namespace shardc::test::ptx

#endif

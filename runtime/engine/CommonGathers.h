// A unit that is gathered from several processes is the same for all ranks of
// one of them, which therefore have the memory that it is gathered into in
// common: a gathered byte enters a process once.
#ifndef SHARDC_RUNTIME_ENGINE_COMMONGATHERS_H
#define SHARDC_RUNTIME_ENGINE_COMMONGATHERS_H

#include "runtime/engine/SharedSlices.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// What a pool that ranks have to themselves takes, in whole cache lines.
inline int64_t alignedBytes(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// CommonGathers says which memory of a plan's pools ranks have in common.
struct CommonGathers {
  struct Pool {
    /// The index of the group (of Plan.groups) whose ranks in this process have
    /// the pool's gathered buffers in common. It is -1 where each rank has a
    /// pool of its own.
    int64_t group = -1;
    int64_t commonBytes = 0;
    /// Each rank has so many besides: all of a pool of its own, else what it
    /// keeps of units for other gathers.
    int64_t ownBytes = 0;
    /// So many ranks have it in common, and `rank` is the first of them.
    int64_t ranks = 1;
    bool isFirst = false;
  };
  std::vector<Pool> pools;
  /// Each buffer that lies in what its rank has besides has its offset there;
  /// -1: in what is common.
  std::vector<int64_t> ownOffsets;

  /// Finds the pools that hold gathered units, and parts of these that are kept
  /// for other gathers, and nothing else, where all gathers into the pool have
  /// the same ranks of this process, several: the one that `rank` is of, and
  /// whose ranks are `ranksPerProcess` in a row. A gather begins when all these
  /// ranks have started it, so that none still reads what was there before.
  static CommonGathers of(const plan::Plan &plan, const SharedSlices &slices,
                          int64_t rank, int64_t ranksPerProcess);
  /// Every rank has all pools for itself.
  static CommonGathers none(const plan::Plan &plan, const SharedSlices &slices);

  /// Bytes of a pool that are allocated for this rank, those in common for the
  /// first of the ranks that have them.
  int64_t poolBytes(int pool) const {
    const Pool &of = pools[pool];
    return of.ownBytes + (of.isFirst ? of.commonBytes : 0);
  }
  /// Makes a pool each rank's own.
  void drop(const plan::Plan &plan, const SharedSlices &slices, int pool);
};

} // namespace shardc::runtime

#endif

// What a run allocates for a rank, known before it begins.
#ifndef SHARDC_RUNTIME_TRAIN_MEMORYPLAN_H
#define SHARDC_RUNTIME_TRAIN_MEMORYPLAN_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

struct MemoryPlan {
  struct Pool {
    std::string name;
    int64_t planned = 0; // bytes, where a rank shares nothing
    int64_t own = 0;     // bytes of each rank
    /// Bytes that so many ranks of a process have together.
    int64_t common = 0;
    int64_t ranksInCommon = 0;
  };
  std::vector<Pool> pools; // of the plan
  /// Of all pools but the one called host, whose bytes are `host`.
  int64_t planned = 0, own = 0, common = 0, host = 0;

  /// Of the pools of a rank in a step of `microBatches`, where `ranksSharing` in
  /// a row have one memory. What ranks of a process need no more, or once
  /// for several, is said in engine/SharedSlices.h and engine/CommonGathers.h.
  static MemoryPlan of(const plan::Plan &plan, int64_t microBatches,
                       int64_t ranksSharing);
};

/// Bytes of a pool that a step needs: the one for accumulated gradients is left
/// out where a step is one micro-batch.
int64_t poolBytes(const plan::Pool &pool, int64_t microBatches);

} // namespace shardc::runtime

#endif

// The engine says what ranks share; the first process stands for all.
#include "runtime/train/MemoryPlan.h"

#include "runtime/base/PoolNames.h"
#include "runtime/engine/CommonGathers.h"

#include <algorithm>

namespace shardc::runtime {

int64_t poolBytes(const plan::Pool &pool, int64_t microBatches) {
  return isPoolUnused(pool.name(), microBatches > 1) ? 0 : pool.bytes();
}

MemoryPlan MemoryPlan::of(const plan::Plan &plan, int64_t microBatches,
                          int64_t ranksSharing) {
  SharedSlices slices = SharedSlices::of(plan, ranksSharing);
  CommonGathers common =
      CommonGathers::of(plan, slices, /*rank=*/0, ranksSharing);
  MemoryPlan memory;
  for (int i = 0; i < plan.pools_size(); ++i) {
    Pool pool{plan.pools(i).name(), poolBytes(plan.pools(i), microBatches)};
    pool.own = std::min(pool.planned, common.pools[i].ownBytes);
    pool.common = common.pools[i].commonBytes;
    pool.ranksInCommon = common.pools[i].ranks;
    bool isHost = isHostPool(pool.name);
    memory.host += isHost ? pool.planned : 0;
    memory.planned += isHost ? 0 : pool.planned;
    memory.own += isHost ? 0 : pool.own;
    memory.common += pool.common;
    memory.pools.push_back(std::move(pool));
  }
  return memory;
}

} // namespace shardc::runtime

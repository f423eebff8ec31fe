// step-plan-memory: offsets into pools for every buffer of a plan.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"

#include "llvm/Support/MathExtras.h"

namespace shardc {
#define GEN_PASS_DEF_STEPPLANMEMORY
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct PoolSizes {
  SmallVector<int64_t> bytes, bound;
  PoolSizes()
      : bytes(step::getMaxEnumValForPool() + 1, 0), bound(bytes.size(), 0) {}
};

// What outlives a step lies one after the other, in its pool.
void planPersistent(step::PlanOp plan, PoolSizes &sizes) {
  for (auto buffer : plan.getBody().front().getOps<step::BufferOp>()) {
    int64_t &end = sizes.bytes[int64_t(buffer.getPool())];
    buffer.setOffset(end);
    end += llvm::alignTo(buffer.getBytes(), step::bufferAlignment);
  }
  sizes.bound = sizes.bytes;
}

// Programs run one after the other, so each has the pools to itself.
void planProgram(step::ProgramOp program, PoolSizes &sizes) {
  std::map<step::Pool, SmallVector<std::pair<step::BufferOp, step::Lifetime>>>
      pools;
  auto lifetimes = step::lifetimes(program);
  for (auto &[op, lifetime] : lifetimes)
    pools[cast<step::BufferOp>(op).getPool()].push_back(
        {cast<step::BufferOp>(op), lifetime});
  for (auto &[pool, buffers] : pools) {
    SmallVector<step::Lifetime> times(llvm::make_second_range(buffers));
    step::Placement placement = step::placeBuffers(times);
    for (auto [buffer, offset] : llvm::zip(buffers, placement.offsets))
      buffer.first.setOffset(offset);
    int64_t &bytes = sizes.bytes[int64_t(pool)];
    int64_t &bound = sizes.bound[int64_t(pool)];
    bytes = std::max(bytes, placement.bytes);
    bound = std::max(bound, placement.bound);
  }
}

void eraseUntouchedBuffers(step::ProgramOp program) {
  auto touched = step::lifetimes(program);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (!step::isEntry(&op) && op.use_empty() && !touched.contains(&op))
      op.erase();
}

struct StepPlanMemory : impl::StepPlanMemoryBase<StepPlanMemory> {
  void runOnOperation() override {
    for (auto plan : getOperation().getOps<step::PlanOp>()) {
      PoolSizes sizes;
      planPersistent(plan, sizes);
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
        eraseUntouchedBuffers(program);
        planProgram(program, sizes);
      }
      plan.setPoolBytes(ArrayRef<int64_t>(sizes.bytes));
      int64_t bound = 0;
      // A run without accumulation does without that pool.
      for (auto [pool, bytes] : llvm::enumerate(sizes.bound))
        if (step::Pool(pool) != step::Pool::accumulation)
          bound += bytes;
      plan.setLiveBoundBytes(bound);
    }
  }
};
} // namespace
} // namespace shardc

// step-plan-memory: offsets into pools for every buffer of a plan.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace shardc {
#define GEN_PASS_DEF_STEPPLANMEMORY
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct PoolSizes {
  /// By pool: what it takes, what it must take, and of what its program's
  /// buffers hold the part alive where most is alive.
  SmallVector<int64_t> bytes, bound, peak;
  PoolSizes()
      : bytes(step::getMaxEnumValForPool() + 1, 0), bound(bytes.size(), 0),
        peak(bytes.size(), 0) {}
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

using Placed = std::pair<step::BufferOp, step::Lifetime>;

// The bytes of each kind that are alive when most are, first time.
SmallVector<int64_t> bytesAtPeak(ArrayRef<Placed> buffers, size_t kinds) {
  std::map<int64_t, SmallVector<int64_t>> changes; // time -> bytes by kind
  for (const auto &[buffer, lifetime] : buffers) {
    int64_t bytes = llvm::alignTo(lifetime.bytes, step::bufferAlignment);
    auto kind = int64_t(step::BufferOp(buffer).getPool());
    for (auto [time, change] : {std::pair(lifetime.first, bytes),
                                std::pair(lifetime.last + 1, -bytes)}) {
      SmallVector<int64_t> &at = changes[time];
      at.resize(kinds);
      at[kind] += change;
    }
  }
  SmallVector<int64_t> alive(kinds, 0), peak(kinds, 0);
  for (auto &[time, change] : changes) {
    for (auto [sum, bytes] : llvm::zip(alive, change))
      sum += bytes;
    if (llvm::sum_of(alive) > llvm::sum_of(peak))
      peak = alive;
  }
  return peak;
}

// Programs run one after the other, so each has the pool to itself. One pool
// for all that lives within a step: activations are at their most when the
// gradients' slices are at their least.
void planProgram(step::ProgramOp program, PoolSizes &sizes) {
  SmallVector<Placed> buffers;
  SmallVector<step::Lifetime> times;
  for (auto &[op, lifetime] : step::lifetimes(program)) {
    buffers.push_back({cast<step::BufferOp>(op), lifetime});
    times.push_back(lifetime);
  }
  step::Placement placement = step::placeBuffers(times);
  auto pool = int64_t(step::Pool::step);
  sizes.bytes[pool] = std::max(sizes.bytes[pool], placement.bytes);
  if (placement.bound > sizes.bound[pool]) {
    sizes.bound[pool] = placement.bound;
    sizes.peak = bytesAtPeak(buffers, sizes.peak.size());
  }
  for (auto [buffer, offset] : llvm::zip(buffers, placement.offsets)) {
    buffer.first.setOffset(offset);
    buffer.first.setPool(step::Pool::step);
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
      plan.setPeakBytes(ArrayRef<int64_t>(sizes.peak));
    }
  }
};
} // namespace
} // namespace shardc

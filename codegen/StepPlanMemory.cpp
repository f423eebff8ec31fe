// step-plan-memory: offsets for every buffer of a plan.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"

#include "llvm/Support/MathExtras.h"

namespace shardc {
#define GEN_PASS_DEF_STEPPLANMEMORY
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct Sizes {
  SmallVector<int64_t> bytes, bound; // by allocation
  Sizes()
      : bytes(step::getMaxEnumValForAllocation() + 1, 0),
        bound(bytes.size(), 0) {}
};

step::Allocation allocationOf(step::BufferOp buffer) {
  return step::allocationOf(buffer.getPool());
}

// What outlives a step lies one after the other.
void planPersistent(step::PlanOp plan, Sizes &sizes) {
  for (auto buffer : plan.getBody().front().getOps<step::BufferOp>()) {
    int64_t &end = sizes.bytes[int64_t(allocationOf(buffer))];
    buffer.setOffset(end);
    end += llvm::alignTo(buffer.getBytes(), step::bufferAlignment);
  }
  sizes.bound = sizes.bytes;
}

// Programs run one after the other, so each has the memory to itself.
void planProgram(step::ProgramOp program, Sizes &sizes) {
  std::map<step::Allocation,
           SmallVector<std::pair<step::BufferOp, step::Lifetime>>>
      allocations;
  auto lifetimes = step::lifetimes(program);
  for (auto &[op, lifetime] : lifetimes) {
    auto buffer = cast<step::BufferOp>(op);
    allocations[allocationOf(buffer)].push_back({buffer, lifetime});
  }
  for (auto &[allocation, buffers] : allocations) {
    SmallVector<step::Lifetime> times(llvm::make_second_range(buffers));
    step::Placement placement = step::placeBuffers(times);
    for (auto [buffer, offset] : llvm::zip(buffers, placement.offsets))
      buffer.first.setOffset(offset);
    int64_t &bytes = sizes.bytes[int64_t(allocation)];
    int64_t &bound = sizes.bound[int64_t(allocation)];
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
      Sizes sizes;
      planPersistent(plan, sizes);
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
        eraseUntouchedBuffers(program);
        planProgram(program, sizes);
      }
      plan.setPoolBytes(ArrayRef<int64_t>(sizes.bytes));
      int64_t bound = 0;
      // A run without accumulation does without that memory.
      for (auto [allocation, bytes] : llvm::enumerate(sizes.bound))
        if (step::Allocation(allocation) != step::Allocation::accumulation)
          bound += bytes;
      plan.setLiveBoundBytes(bound);
    }
  }
};
} // namespace
} // namespace shardc

// step-plan-memory: offsets into pools for every buffer of a plan.
#include "codegen/Passes.h"
#include "codegen/step/Liveness.h"

#include "llvm/Support/MathExtras.h"

namespace shardc {
#define GEN_PASS_DEF_STEPPLANMEMORY
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct Sizes {
  // By pool: what it takes, the least that it could, and what of it outlives a
  // step.
  SmallVector<int64_t> bytes, bound, persistent;
  // By kind of buffer: the most that is alive at once.
  SmallVector<int64_t> kinds;
  Sizes()
      : bytes(step::poolCount, 0), bound(step::poolCount, 0),
        persistent(step::poolCount, 0), kinds(step::kindCount, 0) {}
};

// What lies in a file begins with a block of the disk.
constexpr int64_t hostAlignment = 4096;

// What outlives a step lies one after the other, in its pool.
void planPersistent(step::PlanOp plan, Sizes &sizes) {
  int64_t alignment = plan.getBufferAlignment();
  for (auto buffer : plan.getBody().front().getOps<step::BufferOp>()) {
    int64_t &end = sizes.bytes[int64_t(step::poolOf(buffer.getKind()))];
    int64_t size = llvm::alignTo(buffer.getBytes(), alignment);
    if (step::poolOf(buffer.getKind()) == step::Pool::host)
      end = llvm::alignTo(end, hostAlignment);
    buffer.setOffset(end);
    end += size;
    sizes.kinds[int64_t(buffer.getKind())] += size;
  }
  sizes.bound = sizes.persistent = sizes.bytes;
  int64_t &host = sizes.persistent[int64_t(step::Pool::host)];
  host = llvm::alignTo(host, hostAlignment);
}

// Programs run one after the other, so each has the pools to itself.
void planProgram(int64_t alignment,
                 const llvm::MapVector<Operation *, step::Lifetime> &lifetimes,
                 Sizes &sizes) {
  std::map<step::Pool, SmallVector<std::pair<step::BufferOp, step::Lifetime>>>
      pools;
  std::map<step::Kind, SmallVector<step::Lifetime>> kinds;
  for (auto &[op, exact] : lifetimes) {
    auto buffer = cast<step::BufferOp>(op);
    step::Lifetime lifetime = exact;
    lifetime.bytes = llvm::alignTo(
        exact.bytes, step::poolOf(buffer.getKind()) == step::Pool::host
                         ? hostAlignment
                         : alignment);
    pools[step::poolOf(buffer.getKind())].push_back({buffer, lifetime});
    kinds[buffer.getKind()].push_back(lifetime);
  }
  for (auto &[kind, times] : kinds) {
    int64_t &most = sizes.kinds[int64_t(kind)];
    most = std::max(most, step::mostAlive(times));
  }
  for (auto &[pool, buffers] : pools) {
    SmallVector<step::Lifetime> times(llvm::make_second_range(buffers));
    step::Placement placement = step::placeBuffers(times);
    // What outlives a step comes first, in the pool host.
    int64_t begin = sizes.persistent[int64_t(pool)];
    int64_t &bytes = sizes.bytes[int64_t(pool)];
    int64_t &bound = sizes.bound[int64_t(pool)];
    for (auto [buffer, offset] : llvm::zip(buffers, placement.offsets)) {
      buffer.first.setOffset(begin + offset);
      int64_t size = llvm::alignTo(buffer.first.getBytes(), alignment);
      bytes = std::max(bytes, begin + offset + size);
    }
    bound = std::max(bound, begin + placement.bound);
  }
}

void eraseUntouchedBuffers(
    step::ProgramOp program,
    const llvm::MapVector<Operation *, step::Lifetime> &touched) {
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
        auto lifetimes = step::lifetimes(program);
        eraseUntouchedBuffers(program, lifetimes);
        planProgram(plan.getBufferAlignment(), lifetimes, sizes);
      }
      plan.setPoolBytes(ArrayRef<int64_t>(sizes.bytes));
      plan.setKindBytes(ArrayRef<int64_t>(sizes.kinds));
      int64_t bound = 0;
      // A run without accumulation does without that pool; that of the host is
      // no memory of the device.
      for (auto [pool, bytes] : llvm::enumerate(sizes.bound))
        if (step::Pool(pool) != step::Pool::accumulation &&
            step::Pool(pool) != step::Pool::host)
          bound += bytes;
      plan.setLiveBoundBytes(bound);
    }
  }
};
} // namespace
} // namespace shardc

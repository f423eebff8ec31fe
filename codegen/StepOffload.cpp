// step-offload: what leaves the device's memory for the pool host.
#include "codegen/Passes.h"
#include "codegen/offload/ActivationStaging.h"
#include "codegen/offload/OptimizerStaging.h"
#include "codegen/offload/ParameterStaging.h"
#include "codegen/step/Liveness.h"
#include "passes/options/OffloadOption.h"

#include <map>

namespace shardc {
#define GEN_PASS_DEF_STEPOFFLOAD
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

/// What no placement of a plan's buffers takes less than.
int64_t leastBytes(step::PlanOp plan) {
  int64_t most = 0;
  for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
    std::map<step::Pool, SmallVector<step::Lifetime>> pools;
    for (auto &[buffer, lifetime] : step::lifetimes(program))
      pools[step::poolOf(cast<step::BufferOp>(buffer).getKind())].push_back(
          lifetime);
    pools.erase(step::Pool::host);
    int64_t own = 0;
    for (auto &[pool, lifetimes] : pools)
      own += step::mostAlive(lifetimes);
    most = std::max(most, own);
  }
  // Parameters that have left will have room, too: those of a unit or two
  // beside those that are used.
  SmallVector<int64_t> staged;
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>())
    if (offload::isOnHost(storage.getParameters()))
      staged.push_back(static_cast<int64_t>(
          storage.getParameters().getDefiningOp<step::BufferOp>().getBytes()));
  llvm::sort(staged, std::greater<>());
  for (int64_t bytes : ArrayRef(staged).take_front(3))
    most += bytes;
  return step::persistentBytes(plan) + most;
}

step::ProgramOp trainProgram(step::PlanOp plan) {
  for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
    if (program.getName() == "train")
      return program;
  return {};
}

struct StepOffload : impl::StepOffloadBase<StepOffload> {
  using StepOffloadBase::StepOffloadBase;

  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  void runOnOperation() override {
    auto option = OffloadOption::parse(offload);
    if (!option)
      return fail(option.takeError());
    if (option->isNone())
      return markAllAnalysesPreserved();
    auto machine = Cluster::load(cluster);
    if (!machine)
      return fail(machine.takeError());
    auto limit = machine->poolLimit(memoryLimit);
    if (!limit)
      return fail(limit.takeError());
    for (step::PlanOp plan :
         llvm::to_vector(getOperation().getOps<step::PlanOp>())) {
      if (option->isAuto) {
        if (failed(fit(plan, *machine, static_cast<int64_t>(*limit))))
          return signalPassFailure();
        continue;
      }
      if (option->parameters &&
          !offload::offloadParameters(plan, option->parameters, *machine)) {
        getOperation().emitError(
            "--offload parameters: no rank has parameters that it updates "
            "alone; give --strategy full, --reshard-after-backward always, "
            "--master float32, and an optimizer other than muon");
        return signalPassFailure();
      }
      if (step::ProgramOp train = trainProgram(plan))
        if (failed(offloadBytes(plan, train, *machine, *option)))
          return signalPassFailure();
    }
  }

  LogicalResult offloadBytes(step::PlanOp plan, step::ProgramOp program,
                             const Cluster &machine,
                             const OffloadOption &option) {
    offload::HostLink link(machine);
    if (option.activations) {
      offload::ActivationStaging activations(program, machine, link);
      if (option.activations == OffloadOption::all)
        activations.chooseHidden(/*enough=*/0);
      else
        activations.chooseUpTo(option.activations);
      activations.apply();
    }
    if (!option.optimizer && !option.parameters)
      return success();
    return offload::OptimizerStaging(plan, program, machine, link, partBytes)
        .run(option.optimizer);
  }

  /// Takes out of a plan what is too much for a limit, less half a percent that
  /// placing buffers may lose (step/MemoryPlanner.h). What comes back has room
  /// beside what stays, and gradients wait for it: where that is known, and too
  /// much, more leaves.
  LogicalResult fit(step::PlanOp plan, const Cluster &machine, int64_t limit) {
    if (!trainProgram(plan) || leastBytes(plan) <= limit)
      return success();
    limit -= limit / 200;
    constexpr int most = 8;
    int64_t room = 0;
    for (int tried = 1;; ++tried) {
      OpBuilder builder(plan);
      auto copy = cast<step::PlanOp>(builder.clone(*plan));
      if (failed(fit(copy, trainProgram(copy), machine, limit - room)))
        return failure();
      int64_t over = leastBytes(copy) - limit;
      if (over <= 0 || tried == most) {
        plan.erase();
        return success();
      }
      copy.erase();
      room += room + over;
    }
  }

  /// Takes out activations that cost no time, then of the optimizer what is
  /// still too much, with parameters where that is not enough, then activations
  /// that compute waits for.
  LogicalResult fit(step::PlanOp plan, step::ProgramOp program,
                    const Cluster &machine, int64_t limit) {
    int64_t over = leastBytes(plan) - limit;
    if (over <= 0)
      return success();
    offload::HostLink link(machine);
    {
      offload::ActivationStaging activations(program, machine, link);
      activations.chooseHidden(activations.aliveBytes() - over);
      activations.apply();
    }
    over = leastBytes(plan) - limit;
    if (over > 0) {
      offload::OptimizerStaging optimizer(plan, program, machine, link,
                                          partBytes);
      int64_t bytes = optimizer.bytesToSave(over);
      bool withParameters =
          bytes < over &&
          offload::offloadParameters(plan, OffloadOption::all, machine);
      if ((bytes > 0 || withParameters) && failed(optimizer.run(bytes)))
        return failure();
    }
    over = leastBytes(plan) - limit;
    if (over <= 0)
      return success();
    // More and more, until it is enough or all that there is.
    int64_t before = -1;
    for (int64_t most = over;; most += std::max<int64_t>(most / 4, 1 << 20)) {
      offload::HostLink own = link;
      offload::ActivationStaging activations(program, machine, own);
      int64_t enough = activations.aliveBytes() - over;
      activations.chooseUpTo(most);
      bool isAll = activations.bytes() == before && most > leastBytes(plan);
      before = activations.bytes();
      if (activations.aliveBytes() > enough && !isAll)
        continue;
      activations.apply();
      return success();
    }
  }
};
} // namespace
} // namespace shardc

// step-schedule: gathers begin and reductions are waited for where a step is
// shortest, under a limit of memory.
#include "codegen/Passes.h"
#include "codegen/schedule/Deferral.h"
#include "codegen/schedule/ProgramMoves.h"
#include "codegen/step/Liveness.h"
#include "passes/fsdp/FSDP.h"
#include "passes/options/PrefetchOption.h"

namespace shardc {
#define GEN_PASS_DEF_STEPSCHEDULE
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

struct StepSchedule : impl::StepScheduleBase<StepSchedule> {
  using StepScheduleBase::StepScheduleBase;

  void runOnOperation() override {
    auto option = PrefetchOption::parse(prefetch);
    if (!option)
      return fail(option.takeError());
    if (!option->isAuto)
      return markAllAnalysesPreserved();
    auto machine = Cluster::load(cluster);
    if (!machine)
      return fail(machine.takeError());
    auto limit = machine->poolLimit(memoryLimit);
    if (!limit)
      return fail(limit.takeError());
    CostModel costs(*machine);
    for (auto plan : getOperation().getOps<step::PlanOp>()) {
      // Programs share pools: an evaluation gathers no more than a step does.
      int64_t gatherLimit = std::numeric_limits<int64_t>::max();
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
        schedule(program, costs,
                 static_cast<int64_t>(*limit) - step::persistentBytes(plan),
                 gatherLimit);
    }
  }

  /// Lowers `gatherLimit` to what the program gathers at once.
  void schedule(step::ProgramOp program, const CostModel &costs, int64_t limit,
                int64_t &gatherLimit) {
    auto problemOf = [&] {
      auto moves = std::make_unique<schedule::ProgramMoves>(program, costs);
      moves->problem.limit = limit;
      // A step that is too large for the machine anyway is planned in a bit
      // more than it takes to gather one unit ahead.
      if (memoryLimit.empty()) {
        int64_t least = schedule::ahead(moves->problem, 1).bytes();
        moves->problem.limit = std::max(limit, least + least / 8);
      }
      moves->problem.gatherLimit = gatherLimit;
      return moves;
    };
    auto moves = problemOf();
    if (moves->problem.collectives.empty())
      return;
    schedule::Schedule best = fit(moves->problem);
    // What could be computed behind the last reduction, more and more of it.
    std::optional<schedule::Deferral> accepted;
    for (double times : {1.0, 2.0, 4.0}) {
      if (accepted)
        accepted->undo();
      schedule::Deferral deferral(program, costs, times);
      if (!deferral.isEmpty()) {
        deferral.apply();
        auto deferred = problemOf();
        schedule::Schedule made = fit(deferred->problem);
        if (moves->problem.prefers(made, best)) {
          best = std::move(made);
          moves = std::move(deferred);
          accepted = std::move(deferral);
          continue;
        }
        deferral.undo();
      }
      if (accepted)
        accepted->apply();
      break;
    }
    const SymbolTable symbols(getOperation());
    for (auto [start, isHeld] : llvm::zip(moves->starts(), best.held))
      if (isHeld)
        symbols.lookup<fsdp::UnitOp>(step::AllGatherStartOp(start).getUnit())
            .setReshard(1);
    moves->apply(best);
    if (best.gatherBytes > 0)
      gatherLimit = std::min(gatherLimit, best.gatherBytes);
  }

  /// A schedule whose buffers keep the limit where they are placed, too: what
  /// that takes beyond what is alive at once is taken off, as often as it helps.
  static schedule::Schedule fit(schedule::Problem problem) {
    int64_t limit = problem.limit;
    for (int trial = 0;; ++trial) {
      schedule::Schedule made = schedule::schedule(problem);
      int64_t over = schedule::placedBytes(problem, made) - limit;
      if (over <= 0 || trial == 3 || !problem.allows(made))
        return made;
      problem.limit = made.bytes() - over;
    }
  }

  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }
};
} // namespace
} // namespace shardc

// A mesh of one rank, and otherwise what was asked for.
#include "tools/shardc/UnshardedStep.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <thread>

namespace shardc {

/// All that decides bits stays as it is. A rank has as many threads as one of
/// the mesh's.
static Options unshardedOptions(const Options &of, int64_t ranks) {
  Options options = of;
  options.mesh = "1";
  options.strategy = "full";
  options.accumulate = "sharded"; // ranks become micro-batches
  options.reshardAfterForward = "default";
  options.reshardAfterBackward = "always";
  for (std::string &unit : options.unitOptions)
    for (const char *key : {",reshard=", ",after-backward="})
      if (size_t begin = unit.find(key); begin != std::string::npos)
        unit.erase(begin, unit.find(',', begin + 1) - begin);
  options.offload = "none";
  options.memoryLimit = options.timeline = options.report = options.kernels =
      options.dumpPhasesTo = "";
  if (!options.threadsPerRank)
    options.threadsPerRank = std::max<int64_t>(
        1, int64_t(std::thread::hardware_concurrency()) / ranks);
  return options;
}

/// Whether ranks sum floats on their way through the model (`fsdp.rank_sum`); the
/// counts of labels are integers.
static bool sumsOverRanks(const plan::Plan &plan) {
  return llvm::any_of(plan.train().entries(), [](const plan::Entry &entry) {
    return entry.has_all_reduce_start() && entry.phase() == "forward" &&
           !entry.all_reduce_start().has_unit() &&
           entry.all_reduce_start().values(0).dtype() != plan::INT64;
  });
}

UnshardedStep::UnshardedStep(const Compilation &common,
                             const TargetProgram &sharded)
    : options(unshardedOptions(common.options, sharded.report.ranks)),
      own{options, common.context, common.diagnostics, common.timing,
          common.cache},
      compiled(own, sharded.name(), "") {}

llvm::Expected<std::unique_ptr<UnshardedStep>>
UnshardedStep::make(const Compilation &common, const TargetProgram &sharded,
                    mlir::ModuleOp module, EmitOptions emit) {
  // Each dimension rounds its sums once.
  if (llvm::StringRef(sharded.report.strategy).starts_with("hybrid"))
    return llvm::createStringError(
        "--checkable: strategy " + sharded.report.strategy +
        " adds up gradients dimension by dimension, to bits that no unsharded "
        "step has; give --strategy full, grad_op, opt or none");
  if (sumsOverRanks(sharded.emitted()->plan))
    return llvm::createStringError(
        "--checkable: the model has sums over the samples of all ranks, which "
        "an unsharded step has no batch for; give --batch-norm rank and "
        "--batch-sums rank");
  std::unique_ptr<UnshardedStep> step(new UnshardedStep(common, sharded));
  KeptDiagnostics kept(/*keepsWarnings=*/true);
  emit.embedded = sharded.emitted()->weights;
  TargetProgram &program = step->compiled;
  if (!program.resolveTarget() || !program.run(module.clone()) ||
      !program.emit(emit))
    return llvm::createStringError(
        "--checkable: the unsharded step: " +
        (kept.errors.empty() ? "cannot be compiled" : kept.errors.front()));
  return step;
}

} // namespace shardc

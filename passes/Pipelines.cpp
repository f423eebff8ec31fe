// The phases raise, train and shard.
#include "passes/Pipelines.h"

#include "passes/Passes.h"
#include "passes/options/PrecisionOption.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace shardc {

/// Functions have one block: there is no region to simplify.
static GreedyRewriteConfig oneBlock() {
  return GreedyRewriteConfig().setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
}

/// Bytes of a gathered parameter's element; 4 for a precision that nn-precision
/// will refuse.
static int64_t elementBytesOf(StringRef precision, StringRef master) {
  auto types = PrecisionOption::parse(precision, master);
  if (!types) {
    llvm::consumeError(types.takeError());
    return 4;
  }
  if (types->parameters == FloatKind::Float64)
    return 8;
  return isHalf(types->parameters) ? 2 : 4;
}

void buildRaisePhase(OpPassManager &passes, const RaisePhaseOptions &options) {
  passes.addPass(createNNRaise());
  NNMarkParametersOptions mark;
  mark.freeze = {options.freeze.begin(), options.freeze.end()};
  mark.trainable = {options.trainable.begin(), options.trainable.end()};
  passes.addPass(createNNMarkParameters(mark));
  // After raising, so that the loss meets the head as one linear and the two
  // become one op.
  NNAttachLossOptions loss;
  loss.loss = options.loss;
  loss.accuracy = options.accuracy;
  loss.outputs.assign(options.outputs.begin(), options.outputs.end());
  passes.addPass(createNNAttachLoss(loss));
  passes.addPass(createNNWarnRoots());
  // While blocks repeat in one forward pass, and frozen parameters are there.
  FSDPAssignUnitsOptions units;
  units.units = options.units;
  units.cluster = options.cluster;
  units.mesh = options.mesh;
  units.strategy = options.strategy;
  units.elementBytes = elementBytesOf(options.precision, options.master);
  passes.addPass(createFSDPAssignUnits(units));
  // Behind the units, some of which may have a precision of their own.
  NNPrecisionOptions precision;
  precision.precision = options.precision;
  precision.master = options.master;
  precision.unitOptions = {options.unitOptions.begin(),
                           options.unitOptions.end()};
  passes.addPass(createNNPrecision(precision));
  passes.addPass(createCanonicalizerPass(oneBlock()));
  passes.addPass(createCSEPass());
  // Behind those two: equal inputs are one value.
  if (options.stackLinears)
    passes.addPass(createNNStackLinears({options.align}));
}

void buildTrainPhase(OpPassManager &passes, const TrainPhaseOptions &options) {
  // Once equal sums are one.
  passes.addPass(createNNSumOverRanks(
      {options.batchSums, options.batchNorm, options.mesh}));
  passes.addPass(createNNDifferentiate());
  passes.addPass(createNNExpandBatchNorms({options.batchNorm, options.mesh}));
  passes.addPass(createNNPlaceDraws());
  // Where backward builds again what forward has, the two become one.
  passes.addPass(createCanonicalizerPass(oneBlock()));
  passes.addPass(createCSEPass());
  // Last: what it computes twice is one value to those two.
  passes.addPass(createNNRemat({options.remat, options.cluster, options.mesh,
                                options.strategy, options.fuseProducts}));
}

void buildShardPhase(OpPassManager &passes, const ShardPhaseOptions &options) {
  FSDPFormUnitsOptions units;
  units.mesh = options.mesh;
  units.strategy = options.strategy;
  units.reshard = options.reshard;
  units.unitOptions = {options.unitOptions.begin(), options.unitOptions.end()};
  units.afterBackward = options.afterBackward;
  units.align = options.align;
  passes.addPass(createFSDPFormUnits(units));
  FSDPShardOptions shard;
  shard.optimizer = options.optimizer;
  shard.matrices = {options.matrices.begin(), options.matrices.end()};
  shard.newtonSchulzSteps = options.newtonSchulzSteps;
  shard.prefetch = options.prefetch;
  shard.accumulate = options.accumulate;
  shard.update = options.update;
  passes.addPass(createFSDPShard(shard));
  passes.addPass(createFSDPExchangeRows({options.embedding}));
  passes.addPass(createFSDPVerify());
}

void registerShardcPipelines() {
  PassPipelineRegistration<RaisePhaseOptions>(
      "phase-raise", "shardc's phase raise: ops that say what they mean",
      buildRaisePhase);
  PassPipelineRegistration<TrainPhaseOptions>(
      "phase-train", "shardc's phase train: the backward pass",
      buildTrainPhase);
  PassPipelineRegistration<ShardPhaseOptions>(
      "phase-shard", "shardc's phase shard: units and collectives on a mesh",
      buildShardPhase);
}

} // namespace shardc

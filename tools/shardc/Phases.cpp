// From the command line to pipelines.
#include "tools/shardc/Phases.h"

#include "codegen/Pipelines.h"
#include "frontend/onnx/GraphDims.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "passes/Pipelines.h"
#include "passes/options/LossOption.h"
#include "tools/shardc/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shardc;

shardc::onnx::ImportOptions shardc::importOptions(const Options &options) {
  shardc::onnx::ImportOptions import;
  import.path = options.model;
  for (const auto &[name, size] : options.dims)
    import.dims[name] = size;
  import.allowMissingWeights = options.init == "random";
  import.roles = {options.trainable, options.buffers, options.untied};
  // What is wrong with --loss is said where it is attached.
  llvm::Expected<LossOption> loss = LossOption::parse(options.loss);
  if (!loss) {
    llvm::consumeError(loss.takeError());
    return import;
  }
  import.outputs.push_back(loss->output);
  llvm::append_range(import.outputs, options.outputs);
  return import;
}

OwningOpRef<ModuleOp> shardc::importLarger(MLIRContext *context,
                                           const Options &options,
                                           const onnx::ImportedModel &model,
                                           int64_t times) {
  onnx::ImportOptions larger = importOptions(options);
  bool isSaid = false;
  for (const std::string &name : onnx::batchDims(*model.file))
    if (auto size = larger.dims.find(name); size != larger.dims.end()) {
      size->second *= times;
      isSaid = true;
    }
  onnx::ImportDiagnostics unused;
  return isSaid ? onnx::importOnnx(context, larger, unused)
                : OwningOpRef<ModuleOp>();
}

void shardc::buildPhase(OpPassManager &passes, Phase phase,
                        const Options &options, const PhaseSettings &settings) {
  switch (phase) {
  case Phase::Import:
  case Phase::Trainer:
    return;
  case Phase::Raise: {
    RaisePhaseOptions raise;
    raise.freeze = ArrayRef(options.freeze);
    raise.trainable = ArrayRef(options.trainable);
    raise.loss = options.loss;
    raise.outputs = options.outputs;
    raise.accuracy = options.metric == "accuracy";
    raise.units = options.units;
    raise.cluster = settings.cluster;
    raise.mesh = options.mesh;
    raise.strategy = options.strategy;
    raise.precision = options.precision;
    raise.master = options.master;
    raise.unitOptions = ArrayRef(options.unitOptions);
    raise.stackLinears = settings.mergesProducts;
    raise.align = settings.flatAlignment;
    return buildRaisePhase(passes, raise);
  }
  case Phase::Train: {
    TrainPhaseOptions train;
    train.remat = options.remat;
    train.cluster = settings.cluster;
    train.mesh = options.mesh;
    train.strategy = options.strategy;
    train.batchNorm = options.batchNorm;
    train.batchSums = options.batchSums;
    train.fuseProducts = settings.mergesProducts;
    return buildTrainPhase(passes, train);
  }
  case Phase::Shard: {
    ShardPhaseOptions shard;
    shard.mesh = options.mesh;
    shard.strategy = options.strategy;
    shard.reshard = options.reshardAfterForward;
    shard.afterBackward = options.reshardAfterBackward;
    shard.unitOptions = ArrayRef(options.unitOptions);
    shard.optimizer = options.optimizer;
    shard.matrices = options.muon;
    shard.newtonSchulzSteps = options.newtonSchulzSteps;
    shard.prefetch = settings.prefetch;
    shard.accumulate = options.accumulate;
    shard.update = options.update;
    shard.embedding = options.embedding;
    shard.align = settings.flatAlignment;
    return buildShardPhase(passes, shard);
  }
  case Phase::Kernels: {
    KernelsPhaseOptions kernels;
    kernels.fuseProducts = settings.mergesProducts;
    return buildKernelsPhase(passes, kernels);
  }
  case Phase::Plan: {
    PlanPhaseOptions plan;
    plan.target = settings.target;
    plan.workers = settings.workers;
    plan.prefetch = settings.prefetch;
    plan.cluster = settings.cluster;
    plan.memoryLimit = options.memoryLimit;
    plan.offload = options.offload;
    return buildPlanPhase(passes, plan);
  }
  }
  llvm_unreachable("a phase that the compiler does not know");
}

std::vector<std::string> shardc::passNames(const Options &options) {
  std::vector<std::string> names;
  for (size_t phase = 0; phase < std::size(phases); ++phase) {
    OpPassManager all(ModuleOp::getOperationName());
    buildPhase(all, Phase(phase), options,
               {.cluster = "cpu",
                .target = "cpu",
                .prefetch = "1",
                .mergesProducts = true});
    for (const Pass &pass : all.getPasses())
      if (std::string name = pass.getArgument().str();
          !llvm::is_contained(names, name))
        names.push_back(name);
  }
  return names;
}

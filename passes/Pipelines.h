// The phases raise, train and shard as pipelines: which pass runs when, and why
// there. shardc runs them, and shardc-opt by name, with the same options.
#ifndef SHARDC_PASSES_PIPELINES_H
#define SHARDC_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace shardc {

/// --phase-raise: from what the file says to ops that say what they mean, with
/// roles of parameters, the loss, units and precision.
struct RaisePhaseOptions : mlir::PassPipelineOptions<RaisePhaseOptions> {
  ListOption<std::string> freeze{
      *this, "freeze",
      llvm::cl::desc("regular expressions: parameters that are not trained")};
  ListOption<std::string> trainable{
      *this, "trainable",
      llvm::cl::desc("regular expressions: the only ones that are")};
  ListOption<std::string> outputs{*this, "outputs",
                                  llvm::cl::desc("see nn-attach-loss")};
  Option<bool> accuracy{*this, "accuracy", llvm::cl::desc("see nn-attach-loss"),
                        llvm::cl::init(false)};
  Option<std::string> loss{*this, "loss", llvm::cl::desc("see nn-attach-loss"),
                           llvm::cl::init("")};
  Option<std::string> units{*this, "units",
                            llvm::cl::desc("see fsdp-assign-units"),
                            llvm::cl::init("auto")};
  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("the machine of the cost model"),
                              llvm::cl::init("cpu")};
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("N, or RxS"),
                           llvm::cl::init("1")};
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("see fsdp-form-units"),
                               llvm::cl::init("")};
  Option<std::string> precision{*this, "precision",
                                llvm::cl::desc("see nn-precision"),
                                llvm::cl::init("float32")};
  Option<std::string> master{
      *this, "master", llvm::cl::desc("see nn-precision"), llvm::cl::init("")};
  ListOption<std::string> unitOptions{
      *this, "unit-options", llvm::cl::desc("match=REGEX[,precision=...]")};
  Option<bool> stackLinears{
      *this, "stack-linears",
      llvm::cl::desc("linears of one input become one product"),
      llvm::cl::init(false)};
  Option<int64_t> align{*this, "align", llvm::cl::desc("see nn-stack-linears"),
                        llvm::cl::init(1)};
};
void buildRaisePhase(mlir::OpPassManager &passes,
                     const RaisePhaseOptions &options);

/// --phase-train: the backward pass, and what is computed again in it.
struct TrainPhaseOptions : mlir::PassPipelineOptions<TrainPhaseOptions> {
  Option<std::string> remat{*this, "remat", llvm::cl::desc("see nn-remat"),
                            llvm::cl::init("cheap")};
  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("the machine of the cost model"),
                              llvm::cl::init("cpu")};
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("N, or RxS"),
                           llvm::cl::init("1")};
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("see fsdp-form-units"),
                               llvm::cl::init("")};
  Option<std::string> batchNorm{
      *this, "batch-norm",
      llvm::cl::desc("see nn-expand-batch-norms, nn-sum-over-ranks"),
      llvm::cl::init("rank")};
  Option<std::string> batchSums{*this, "batch-sums",
                                llvm::cl::desc("see nn-sum-over-ranks"),
                                llvm::cl::init("global")};
  Option<bool> fuseProducts{
      *this, "fuse-products",
      llvm::cl::desc("products will add what is added to them"),
      llvm::cl::init(false)};
};
void buildTrainPhase(mlir::OpPassManager &passes,
                     const TrainPhaseOptions &options);

/// --phase-shard: units, collectives and the optimizer on a mesh, proved to fit
/// together.
struct ShardPhaseOptions : mlir::PassPipelineOptions<ShardPhaseOptions> {
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("N, RxS, or replicate=R,shard=S"),
                           llvm::cl::init("1")};
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("see fsdp-form-units"),
                               llvm::cl::init("")};
  Option<std::string> reshard{*this, "reshard",
                              llvm::cl::desc("see fsdp-form-units"),
                              llvm::cl::init("default")};
  ListOption<std::string> unitOptions{
      *this, "unit-options", llvm::cl::desc("match=REGEX[,reshard=...]")};
  Option<std::string> afterBackward{*this, "after-backward",
                                    llvm::cl::desc("see fsdp-form-units"),
                                    llvm::cl::init("always")};
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("see fsdp-shard"),
                                llvm::cl::init("adamw")};
  ListOption<std::string> matrices{
      *this, "matrices", llvm::cl::desc("regular expressions: see fsdp-shard")};
  Option<int64_t> newtonSchulzSteps{*this, "newton-schulz-steps",
                                    llvm::cl::desc("steps of muon's iteration"),
                                    llvm::cl::init(5)};
  Option<std::string> prefetch{
      *this, "prefetch", llvm::cl::desc("see fsdp-shard"), llvm::cl::init("1")};
  Option<std::string> accumulate{*this, "accumulate",
                                 llvm::cl::desc("see fsdp-shard"),
                                 llvm::cl::init("")};
  Option<std::string> update{*this, "update", llvm::cl::desc("see fsdp-shard"),
                             llvm::cl::init("step")};
  Option<std::string> embedding{*this, "embedding",
                                llvm::cl::desc("see fsdp-exchange-rows"),
                                llvm::cl::init("auto")};
  Option<int64_t> align{*this, "align", llvm::cl::desc("see fsdp-form-units"),
                        llvm::cl::init(1)};
};
void buildShardPhase(mlir::OpPassManager &passes,
                     const ShardPhaseOptions &options);

/// Makes the three known by their names.
void registerShardcPipelines();

} // namespace shardc

#endif

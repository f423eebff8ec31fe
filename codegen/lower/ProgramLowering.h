// One function of nn, fsdp and step.call on tensors becomes a step.program:
// every tensor is a view of a buffer, every op at most a few entries.
#ifndef SHARDC_CODEGEN_LOWER_PROGRAMLOWERING_H
#define SHARDC_CODEGEN_LOWER_PROGRAMLOWERING_H

#include "codegen/lower/EntryBuilder.h"

namespace shardc {

class ProgramLowering : EntryBuilder {
public:
  ProgramLowering(PlanBuilder &plan, mlir::func::FuncOp function);
  mlir::LogicalResult run();

private:
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerView(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);

  void launch(step::CallOp op);

  // LowerCollectives.cpp defines what follows.
  mlir::LogicalResult resident(fsdp::ResidentOp op);
  mlir::LogicalResult allGatherStart(fsdp::AllGatherStartOp op);
  mlir::LogicalResult allGatherWait(fsdp::AllGatherWaitOp op);
  mlir::LogicalResult keep(fsdp::KeepOp op);
  void reduceScatterStart(fsdp::ReduceScatterStartOp op);
  void allReduceGradientsStart(fsdp::AllReduceGradientsStartOp op);
  mlir::Value newReductionWorkspace(int64_t bytes);
  int64_t allReduceBytes(const View &value, llvm::StringRef group);
  View accumulator(mlir::RankedTensorType type, llvm::StringRef unit);
  /// Where a reduction leaves the rank's slice.
  View newShard(mlir::Value token, llvm::StringRef unit);
  void accumulate(fsdp::AccumulateOp op);
  void allReduceStart(fsdp::AllReduceStartOp op);
  void gradientNorm(fsdp::GradientNormOp op);
  void exactSum(fsdp::ExactSumOp op);
  void roundSum(fsdp::RoundSumOp op);
  void optimizerStep(fsdp::OptimizerStepOp op);

  // LowerRows.cpp defines these.
  void gatherRowsStart(fsdp::GatherRowsStartOp op);
  void reduceRowsStart(fsdp::ReduceRowsStartOp op);

  // LowerMatrices.cpp defines these.
  void matrixDirection(fsdp::MatrixDirectionOp op);
  void gatherMatricesStart(fsdp::GatherMatricesStartOp op);
  void scatterMatricesStart(fsdp::ScatterMatricesStartOp op);
  void awaitMatrices(mlir::Operation *wait);
  /// The ranks that run what is made of a matrix: its owners. Null: all.
  mlir::DenseI64ArrayAttr ranksOf(mlir::Operation *op);

  /// Gives every gradient its place in the unit's flat gradient buffer, before
  /// anything is lowered: its producer then writes there.
  mlir::LogicalResult placeGradients();
  mlir::LogicalResult placeGradients(fsdp::FlatGradientsOp op);
  /// Where `value` is written at `place`, so is what its library call changes
  /// in place, and what the call that made that changes.
  void placeChanged(mlir::Value value, const View &place);
  /// Copies the gradients that are not in their place yet, and zeroes what no
  /// gradient covers. Returns the flat buffer.
  mlir::Value completeGradients(fsdp::FlatGradientsOp op);

  mlir::Type tokenType() { return step::TokenType::get(builder.getContext()); }
  /// Notes unit, phase and cost on the entries that `op` became.
  void annotate(mlir::Operation *op, mlir::Operation *before);
  llvm::StringRef unitOf(mlir::Operation *op);
  void findPhases();

  mlir::func::FuncOp function;
  step::ProgramOp program;

  struct Collective {
    mlir::Value token;
    mlir::Value buffer; // gathered, shard or flat
    llvm::StringRef unit;
    llvm::SmallVector<View> values;
  };
  llvm::DenseMap<mlir::Value, Collective> collectives;
  llvm::DenseMap<mlir::Operation *, mlir::Value> flatGradients;
  /// Of a tensor that some ranks alone have.
  llvm::DenseMap<mlir::Value, mlir::DenseI64ArrayAttr> runsOn;

  /// The forward phase ends behind this op.
  mlir::Operation *lastForward = nullptr;
  llvm::StringRef phase = "forward";
  bool updatesInBackward = false;
  llvm::StringRef currentUnit;
};

} // namespace shardc

#endif

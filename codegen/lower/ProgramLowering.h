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

  // The entries of one op. LowerRows.cpp defines those of rows, LowerMatrices.cpp
  // those of matrices, LowerCollectives.cpp the others.
  mlir::LogicalResult emitEntries(fsdp::ResidentOp op);
  mlir::LogicalResult emitEntries(fsdp::AllGatherStartOp op);
  mlir::LogicalResult emitEntries(fsdp::AllGatherWaitOp op);
  mlir::LogicalResult emitEntries(fsdp::KeepOp op);
  void emitEntries(fsdp::FlatGradientsOp op);
  void emitEntries(fsdp::AccumulateOp op);
  void emitEntries(fsdp::ReduceScatterStartOp op);
  void emitEntries(fsdp::AllReduceGradientsStartOp op);
  void emitEntries(fsdp::AllGatherUpdatesStartOp op);
  void emitEntries(fsdp::AllReduceStartOp op);
  void emitEntries(fsdp::GradientNormOp op);
  void emitEntries(fsdp::ExactSumOp op);
  void emitEntries(fsdp::RoundSumOp op);
  void emitEntries(fsdp::OptimizerStepOp op);
  void emitEntries(fsdp::MetricOp op);
  void emitEntries(fsdp::OutputsOp op);
  void emitEntries(fsdp::GatherRowsStartOp op);
  void emitEntries(fsdp::ReduceRowsStartOp op);
  void emitEntries(fsdp::MatrixDirectionOp op);
  void emitEntries(fsdp::GatherMatricesStartOp op);
  void emitEntries(fsdp::ScatterMatricesStartOp op);
  /// Of a wait whose results are the values of its collective.
  void awaitValues(mlir::Operation *wait);

  mlir::Value newReductionWorkspace(int64_t bytes);
  int64_t allReduceBytes(const View &value, llvm::StringRef group);
  View accumulator(mlir::RankedTensorType type, llvm::StringRef unit);
  /// Where a reduction leaves the rank's slice.
  View newShard(mlir::Value token, llvm::StringRef unit);
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

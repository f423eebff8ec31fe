// What must hold of gradients: each is summed once over all ranks and
// micro-batches, and the optimizer takes the slice that it has.
#ifndef SHARDC_PASSES_VERIFY_REDUCTIONVERIFIER_H
#define SHARDC_PASSES_VERIFY_REDUCTIONVERIFIER_H

#include "passes/verify/FSDPSymbols.h"
#include "passes/verify/MixedRadix.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace shardc {

/// Follows the reductions and updates of one function, op by op in their order.
class ReductionVerifier {
public:
  explicit ReductionVerifier(const FSDPSymbols &symbols);

  mlir::LogicalResult onFlat(fsdp::FlatGradientsOp flat);
  mlir::LogicalResult onAccumulate(fsdp::AccumulateOp sum);
  /// Makes the gradients of a table and reduces them.
  mlir::LogicalResult onRows(fsdp::ReduceRowsStartOp start);
  /// The start of a reduce-scatter, or of an all-reduce of gradients.
  mlir::LogicalResult onReduction(fsdp::ReduceScatterStartOp start);
  mlir::LogicalResult onReduction(fsdp::AllReduceGradientsStartOp start);
  /// The wait of either.
  mlir::LogicalResult onReduced(mlir::Operation *wait);
  mlir::LogicalResult onDirection(fsdp::MatrixDirectionOp direction);
  mlir::LogicalResult onStep(fsdp::OptimizerStepOp step);
  mlir::LogicalResult onUpdates(fsdp::AllGatherUpdatesStartOp start);
  /// At the function's end. Where there is an optimizer, every trained unit is
  /// reduced and updated once, by one norm over all of them.
  mlir::LogicalResult verifyOptimizer(mlir::func::FuncOp function);

private:
  /// How far a unit's gradients are reduced at one place of the walk.
  struct Reduced {
    mlir::Operation *flat = nullptr;
    mlir::Value value;      // flat gradient, or the slice of its sum
    int64_t summedOver = 1; // ranks
    int64_t slices = 1;     // that it was cut into
    llvm::SmallVector<fsdp::GroupOp, 2> groups; // that summed it
    MixedRadix slice;                           // which of them the rank has
    bool isAccumulated = false;
    fsdp::MatrixDirectionOp direction;
    fsdp::OptimizerStepOp step;
    mlir::Operation *gathersUpdates = nullptr;
  };

  /// The direction of a step went to the owners of its matrices and back.
  static mlir::LogicalResult verifyDirection(fsdp::OptimizerStepOp step,
                                             Reduced reduced);
  /// Notes what makes the gradients of a unit.
  mlir::LogicalResult begin(mlir::Operation *flat,
                            mlir::FlatSymbolRefAttr name);
  template <typename Start>
  mlir::LogicalResult onReduction(Start start, bool scatters);
  mlir::LogicalResult sumOver(mlir::Operation *start,
                              mlir::FlatSymbolRefAttr group, Reduced &reduced,
                              bool scatters);
  /// A sum over the same ranks again would count them several times.
  static mlir::LogicalResult
  verifySummedOnce(mlir::Operation *start, fsdp::GroupOp over,
                   llvm::SmallVectorImpl<fsdp::GroupOp> &groups);
  /// The norm is summed over the ranks that hold different slices, and over all
  /// slices where a rank holds them all.
  mlir::LogicalResult verifyNorm(mlir::Value norm,
                                 const llvm::SetVector<mlir::Value> &results);
  /// What a rank's part of the norm is of: as many slices as the rank has, and
  /// every gradient once. `loc` is where the whole norm is.
  mlir::LogicalResult
  verifyPartialNorm(mlir::Value norm, mlir::Location loc,
                    const llvm::SetVector<mlir::Value> &results);

  const FSDPSymbols &symbols;
  fsdp::MeshOp mesh;
  llvm::MapVector<mlir::StringAttr, Reduced> reductions;
};

} // namespace shardc

#endif

// What must hold of gathered parameters: a unit is gathered from where it lies,
// used while it is there, and released.
#ifndef SHARDC_PASSES_VERIFY_GATHERVERIFIER_H
#define SHARDC_PASSES_VERIFY_GATHERVERIFIER_H

#include "passes/verify/FSDPSymbols.h"

#include "llvm/ADT/MapVector.h"

namespace shardc {

/// Follows the gathers of one function, op by op in their order.
class GatherVerifier {
public:
  explicit GatherVerifier(const FSDPSymbols &symbols)
      : symbols(symbols), mesh(symbols.mesh) {}

  /// Before what an op does: no op reads a buffer that was released, through
  /// whatever views.
  mlir::LogicalResult verifyUses(mlir::Operation &op);
  mlir::LogicalResult onGetParameter(nn::GetParameterOp get);
  mlir::LogicalResult onGather(fsdp::AllGatherStartOp start);
  mlir::LogicalResult onGathered(fsdp::AllGatherWaitOp wait);
  /// Rows of a unit travel out of its slices.
  mlir::LogicalResult onRows(fsdp::GatherRowsStartOp start);
  mlir::LogicalResult onRelease(fsdp::ReleaseOp release);
  /// Parameters change: nothing has them gathered, and nothing gathers them
  /// behind that.
  mlir::LogicalResult onStep(fsdp::OptimizerStepOp step);
  /// At the function's end.
  mlir::LogicalResult verifyReleased();

private:
  /// A unit's gathered buffer at one place of the walk.
  struct Gathered {
    fsdp::AllGatherStartOp start;
    fsdp::AllGatherWaitOp wait;
  };

  /// Reports a unit that was updated before `start` reads it.
  mlir::LogicalResult verifyCurrent(mlir::Operation *start,
                                    mlir::FlatSymbolRefAttr unit);
  /// What is gathered comes from the ranks that have it, in the order of their
  /// slices.
  mlir::LogicalResult verifySource(fsdp::AllGatherStartOp start);

  const FSDPSymbols &symbols;
  fsdp::MeshOp mesh;
  llvm::DenseMap<mlir::StringAttr, mlir::Operation *> updated; // by unit
  /// Begun or there, not released yet.
  llvm::MapVector<mlir::StringAttr, Gathered> gathers;
  llvm::DenseMap<mlir::Value, fsdp::AllGatherWaitOp> gatheredBy;
  /// Of a wait.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> releaseOf;
};

} // namespace shardc

#endif

// Emits the elements of a kernel's tensors at the current position of its
// loops, reading back through the body to the arguments; nothing in between is
// stored unless it was materialized.
#ifndef SHARDC_CODEGEN_KERNELS_ELEMENTEMITTER_H
#define SHARDC_CODEGEN_KERNELS_ELEMENTEMITTER_H

#include "codegen/kernels/KernelPlan.h"
#include "codegen/kernels/VectorOps.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::kernels {

/// Where the loops stand. `lane` is the first lane of the vector; `mask` (null:
/// all) says which lanes exist.
struct LoopPosition {
  mlir::Value piece, step, lane;
  mlir::Value mask;
};

class ElementEmitter {
public:
  ElementEmitter(mlir::OpBuilder &builder, VectorOps &vectors,
                 const KernelPlan &plan)
      : builder(builder), vectors(vectors), plan(plan), lanes(vectors.lanes()),
        extents(plan.extents) {
    scopes.resize(3);
  }

  /// Pointers of the kernel's arguments.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  /// Results of reductions at the current piece (Columns: and lanes).
  llvm::DenseMap<mlir::Value, mlir::Value> reduced;
  LoopPosition position;
  /// All true, without LLVM knowing it; null where it is not needed. See
  /// store().
  mlir::Value allLanes;

  /// A tensor whose row has been stored: at its place in an output, or from
  /// lane 0 in a buffer of the stack.
  struct Stored {
    mlir::Value pointer;
    bool isRowBuffer;
  };
  llvm::DenseMap<mlir::Value, Stored> stored;

  /// Positions along the lanes that are being emitted; forgets what was emitted
  /// for other lanes.
  void setLanes(int64_t begin, int64_t end, mlir::Value lane, mlir::Value mask);
  /// Values that do not depend on a loop are emitted before `loop`, once.
  void enterStep(mlir::Operation *loop, mlir::Value step);
  void leaveStep();
  void enterLanes(mlir::Operation *loop);
  void leaveLanes();
  /// Forgets what was emitted for another piece.
  void enterPiece(mlir::Value piece);

  /// The element, a vector of lanes where it depends on them.
  llvm::FailureOr<mlir::Value> emit(Element element);
  /// Values of the block arguments and ops of a generic's body at `iteration`;
  /// used for reductions, whose accumulators stay unmapped.
  llvm::FailureOr<mlir::IRMapping>
  emitBody(mlir::linalg::GenericOp generic,
           llvm::ArrayRef<IndexForm> iteration);
  void store(mlir::Location loc, mlir::Value value, mlir::Value pointer,
             const IndexForm &where, mlir::Type element);
  const LoopExtents &loopExtents() const { return extents; }

  /// Values that stay valid while the loops are at one place.
  struct Scope {
    mlir::Operation *hoistBefore = nullptr;
    llvm::StringMap<mlir::Value> values;
    llvm::StringMap<mlir::IRMapping> bodies;
  };
  /// What was emitted for the present lanes, to be put back when the loops
  /// return to them: the values stay in registers.
  using LaneValues = Scope;
  LaneValues takeLaneValues();
  void restoreLaneValues(LaneValues values);

private:
  size_t scopeOf(llvm::ArrayRef<IndexForm> index) const;
  template <typename Emit> auto inScope(size_t scope, Emit emit);
  mlir::Value *findValue(llvm::StringRef key);

  llvm::FailureOr<mlir::Value> emitUncached(const Element &element);
  llvm::FailureOr<mlir::Value> emitCompute(mlir::OpResult result,
                                           const Definition &definition);
  llvm::FailureOr<mlir::Value>
  emitChoices(mlir::Type type, const Definition &definition, size_t first);
  llvm::FailureOr<mlir::Value> emitChoice(mlir::Type type,
                                          const Choice &choice);
  std::optional<mlir::Value> loadStored(const Element &element);
  unsigned alignmentOf(const IndexForm &where, mlir::Type element) const;
  mlir::Value load(mlir::Location loc, mlir::Value pointer,
                   const IndexForm &where, mlir::Type element);
  /// An index as i64: of the first lane, or of every lane.
  mlir::Value emitIndex(mlir::Location loc, const IndexForm &form,
                        bool perLane);
  mlir::Value emitBound(mlir::Location loc, const IndexBound &bound);
  mlir::Value emitScalarOutside(mlir::Value scalar);

  mlir::OpBuilder &builder;
  VectorOps &vectors;
  const KernelPlan &plan;
  int64_t lanes;
  LoopExtents extents;
  // Piece, step, lane, then one per open branch.
  llvm::SmallVector<Scope, 4> scopes;
};

} // namespace shardc::kernels

#endif

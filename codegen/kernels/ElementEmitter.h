// Emits the elements of a kernel's tensors at the current position of its
// loops, reading back through the body to the arguments; nothing in between is
// stored unless it was materialized.
#ifndef SHARDC_CODEGEN_KERNELS_ELEMENTEMITTER_H
#define SHARDC_CODEGEN_KERNELS_ELEMENTEMITTER_H

#include "codegen/kernels/LoopNest.h"
#include "codegen/kernels/VectorOps.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::kernels {

/// The present position of the loops. `lane` is the first lane of the vector;
/// `mask` says which lanes exist (null: all).
struct LoopPosition {
  mlir::Value item, step, lane;
  mlir::Value mask;
};

class ElementEmitter {
public:
  ElementEmitter(mlir::OpBuilder &builder, VectorOps &vectors,
                 const LoopNest &nest)
      : builder(builder), vectors(vectors), nest(nest), lanes(vectors.lanes()),
        extents(nest.extents) {
    scopes.resize(3);
  }

  /// The pointers of the kernel's arguments.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  /// The results of reductions at the current work item (for Columns also at
  /// the current lanes).
  llvm::DenseMap<mlir::Value, mlir::Value> reduced;
  LoopPosition position;
  /// A mask that is all true, without LLVM knowing it. It is null where it is
  /// not needed; see store().
  mlir::Value allLanes;

  /// A tensor whose row has been stored: it lies at its place in an output, or
  /// from lane 0 on in a buffer of the stack.
  struct Stored {
    mlir::Value pointer;
    bool isRowBuffer;
  };
  llvm::DenseMap<mlir::Value, Stored> stored;

  /// Sets the positions along the lanes that are being emitted, and forgets
  /// what was emitted for other lanes.
  void setLanes(int64_t begin, int64_t end, mlir::Value lane, mlir::Value mask);
  /// Values that do not depend on a loop are emitted before `loop`, once.
  void enterStep(mlir::Operation *loop, mlir::Value step);
  void leaveStep();
  void enterLanes(mlir::Operation *loop);
  void leaveLanes();
  /// Sets the work item, and forgets what was emitted for another one.
  void enterItem(mlir::Value item);

  /// Emits an element; it is a vector of lanes where it depends on them.
  llvm::FailureOr<mlir::Value> emit(Element element);
  /// Emits the values of the block arguments and ops of a generic's body at
  /// `iteration`. It serves reductions, whose accumulators stay unmapped.
  llvm::FailureOr<mlir::IRMapping>
  emitBody(mlir::linalg::GenericOp generic,
           llvm::ArrayRef<IndexForm> iteration);
  void store(mlir::Location loc, mlir::Value value, mlir::Value pointer,
             const IndexForm &where, mlir::Type element);
  const LoopExtents &loopExtents() const { return extents; }

  /// The values that stay valid while the loops are at one place.
  struct Scope {
    mlir::Operation *hoistBefore = nullptr;
    llvm::StringMap<mlir::Value> values;
    llvm::StringMap<mlir::IRMapping> bodies;
  };
  /// The values that were emitted for the present lanes, to be put back when
  /// the loops return to them: they stay in registers.
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
  /// Emits an index as i64: that of the first lane, or of every lane.
  mlir::Value emitIndex(mlir::Location loc, const IndexForm &form,
                        bool perLane);
  mlir::Value emitBound(mlir::Location loc, const IndexBound &bound);
  mlir::Value emitScalarOutside(mlir::Value scalar);

  /// The values of a body's arguments, but for accumulators.
  llvm::LogicalResult mapArguments(mlir::linalg::GenericOp generic,
                                   llvm::ArrayRef<IndexForm> iteration,
                                   mlir::IRMapping &map);
  /// An integer, or a vector of them, as `type`.
  mlir::Value castIndex(mlir::Location loc, mlir::Value value, mlir::Type type);
  /// Where the body's loop is.
  mlir::Value emitPosition(mlir::linalg::IndexOp index,
                           llvm::ArrayRef<IndexForm> iteration);
  /// An element that a body reads at a position it computes. An operand that
  /// was not emitted is null.
  llvm::FailureOr<mlir::Value> emitExtract(mlir::tensor::ExtractOp extract,
                                           llvm::ArrayRef<mlir::Value> operands,
                                           llvm::ArrayRef<IndexForm> iteration);
  /// An op of arith or math; null where it cannot be one of vectors.
  mlir::Value emitArithmetic(mlir::Operation &op,
                             llvm::ArrayRef<mlir::Value> operands,
                             const mlir::IRMapping &map);

  mlir::OpBuilder &builder;
  VectorOps &vectors;
  const LoopNest &nest;
  int64_t lanes;
  LoopExtents extents;
  // The scopes are those of the work item, the step and the lanes, then one per
  // open branch.
  llvm::SmallVector<Scope, 4> scopes;
};

} // namespace shardc::kernels

#endif

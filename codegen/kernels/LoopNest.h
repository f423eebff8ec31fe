// The loop nest of a kernel: how its function is cut into independent work
// items and loops, for any target. The linalg body alone decides it.
//
//   Elements  There is no reduction. Work items are rows of `lanes` elements
//             (flat: chunks of a contiguous tensor).
//   Rows      Reductions make one value per row; lanes run along what is
//             reduced (steps: further reduced dims).
//   Columns   Reductions go over leading or middle dims; lanes run along the
//             innermost kept dim, steps along what is reduced.
#ifndef SHARDC_CODEGEN_KERNELS_LOOPNEST_H
#define SHARDC_CODEGEN_KERNELS_LOOPNEST_H

#include "codegen/kernels/TensorDefinition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::kernels {

/// What one pass over the lanes, or the steps, of a kernel does.
struct KernelPass {
  llvm::SmallVector<unsigned> reductions; // indices into LoopNest::reductions
  llvm::SmallVector<unsigned> outputs;    // indices into LoopNest::outputs
  bool empty() const { return reductions.empty() && outputs.empty(); }
};

struct LoopNest {
  enum class Kind { Elements, Rows, Columns } kind = Kind::Elements;
  LoopExtents extents;
  /// With Elements only: the lane loop is the whole tensor, cut into chunks;
  /// there is one work item.
  bool flat = false;
  /// Lanes in ascending order, from 0 to the number of lanes. Between two of
  /// them, every concatenation along the lanes has one source.
  llvm::SmallVector<int64_t> laneSplits;
  /// The number of reductions, one after the other, that a value waits for.
  llvm::DenseMap<mlir::Value, int64_t> levels;
  llvm::SmallVector<mlir::linalg::GenericOp> reductions;
  /// The kernel's results, and which of them have one element per row (Rows
  /// only).
  llvm::SmallVector<mlir::Value> outputs;
  llvm::SmallVector<bool> outputPerRow;

  int64_t levelOf(mlir::Value tensor) const { return levels.lookup(tensor); }
  /// The level of the outputs that wait for most. Passes have the levels 0 to
  /// this.
  int64_t lastLevel() const;
  /// The pass of a level: its outputs, but for those with one element per row,
  /// and the reductions that the next level waits for.
  KernelPass passOf(int64_t level) const;
  /// The index of output `tensor` at the loops' position.
  IndexForms outputIndex(mlir::Value tensor, bool perRow) const;
  /// The position of each loop of a reduction; result elements belong to work
  /// items (and lanes, for Columns).
  IndexForms reductionIteration(mlir::linalg::GenericOp reduction) const;
  /// The position in a tensor of all lanes of all work items.
  IndexForm position() const;
};

/// Finds the loop nest of `kernel`, a function of linalg on tensors. On failure
/// `why` says what hinders it: the function is not one kernel.
std::optional<LoopNest> findLoopNest(mlir::func::FuncOp kernel,
                                     std::string &why);

/// Calls `argument` with every position at which a kernel reads its arguments,
/// and `bound` with every bound that no position decides.
void visitAccesses(const LoopNest &nest,
                   llvm::function_ref<void(const IndexForm &)> argument,
                   llvm::function_ref<void(const IndexBound &)> bound);

/// Whether output `output` may be written where `argument` lies: no element of
/// that is read at another place than its own, or after it was written. (What
/// is emitted reads all operands of a vector of lanes before it writes one.)
bool mayLieInPlace(const LoopNest &nest, mlir::Value argument, unsigned output);

} // namespace shardc::kernels

#endif

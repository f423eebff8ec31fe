// How a kernel's function is cut into independent pieces and loops, for any
// target: decided from its linalg body alone.
//
//   Elements  There is no reduction. Pieces are rows of `lanes` elements (flat:
//             chunks of a contiguous tensor).
//   Rows      Reductions make one value per row; lanes run along what is reduced
//             (steps: further reduced dims).
//   Columns   Reductions go over leading or middle dims; lanes run along the
//             innermost kept dim, steps along what is reduced.
#ifndef SHARDC_CODEGEN_KERNELS_KERNELPLAN_H
#define SHARDC_CODEGEN_KERNELS_KERNELPLAN_H

#include "codegen/kernels/TensorDefinition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::kernels {

/// What one pass over the lanes, or the steps, of a kernel does.
struct KernelPass {
  llvm::SmallVector<unsigned> reductions; // indices into plan.reductions
  llvm::SmallVector<unsigned> outputs;    // indices into plan.outputs
  bool empty() const { return reductions.empty() && outputs.empty(); }
};

struct KernelPlan {
  enum class Kind { Elements, Rows, Columns } kind = Kind::Elements;
  LoopExtents extents;
  /// Elements only: the lane loop is the whole tensor, cut into chunks; there
  /// is one piece.
  bool flat = false;
  /// Ascending, from 0 to the number of lanes: between two of them, every
  /// concatenation along the lanes has one source.
  llvm::SmallVector<int64_t> laneSplits;
  /// The number of reductions, one after the other, that a value waits for.
  llvm::DenseMap<mlir::Value, int64_t> levels;
  llvm::SmallVector<mlir::linalg::GenericOp> reductions;
  /// The kernel's results, and which of them have one element per row (Rows
  /// only).
  llvm::SmallVector<mlir::Value> outputs;
  llvm::SmallVector<bool> outputPerRow;

  int64_t levelOf(mlir::Value tensor) const { return levels.lookup(tensor); }
  /// Of the outputs that wait for most. Passes have the levels 0 to this.
  int64_t lastLevel() const;
  /// The outputs of a level, but for those with one element per row, and the
  /// reductions that the next level waits for.
  KernelPass passOf(int64_t level) const;
  /// Index of output `tensor` at the loops' position.
  IndexForms outputIndex(mlir::Value tensor, bool perRow) const;
  /// Position of each loop of a reduction; result elements belong to pieces
  /// (and lanes, for Columns).
  IndexForms reductionIteration(mlir::linalg::GenericOp reduction) const;
  /// Position in a tensor of all lanes of all pieces.
  IndexForm position() const;
};

/// Plans `kernel`, a function of linalg on tensors. On failure `why` says what
/// hinders it: the function is not one kernel.
std::optional<KernelPlan> planKernel(mlir::func::FuncOp kernel,
                                     std::string &why);

/// Calls `argument` with every position at which a planned kernel reads its
/// arguments, and `bound` with every bound that no position decides.
void visitAccesses(const KernelPlan &plan,
                   llvm::function_ref<void(const IndexForm &)> argument,
                   llvm::function_ref<void(const IndexBound &)> bound);

/// Whether output `output` may be written where `argument` lies: no element of
/// that is read at another place than its own, or after it was written. (What
/// is emitted reads all operands of a vector of lanes before it writes one.)
bool mayLieInPlace(const KernelPlan &plan, mlir::Value argument,
                   unsigned output);

} // namespace shardc::kernels

#endif

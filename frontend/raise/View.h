// Views: what a chain of reshapes, transposes and broadcasts does to the dims
// of a value, whatever the ops that spell it. A dim is a list of atoms (factors
// of its size); so a head split, a batch merge and their undoing compare equal.
#ifndef SHARDC_FRONTEND_RAISE_VIEW_H
#define SHARDC_FRONTEND_RAISE_VIEW_H

#include "frontend/nn/NN.h"

namespace shardc::raise {

/// A tensor seen through views. Example: reshape [2,6,8] -> [2,6,4,2],
/// transpose [0,2,1,3] has the atoms a0=2, a1=6, a2=4, a3=2, `baseDims`
/// {{a0},{a1},{a2,a3}} and `dims` {{a0},{a2},{a1},{a3}}. Dims of size 1 have no
/// atoms. A broadcast adds an atom that the base does not have.
class View {
public:
  struct Atom {
    int64_t size;
    bool broadcast;
  };
  using Dim = llvm::SmallVector<unsigned, 2>;
  using Dims = llvm::SmallVector<Dim, 6>;
  /// Looks through an op that keeps the shape: returns the operand behind it,
  /// or null to stop.
  using LookThrough = llvm::function_ref<mlir::Value(mlir::Operation *)>;

  /// `value` as it is.
  static View identity(mlir::Value value);
  /// `value` followed back through view ops to the first value that is none.
  /// With `lookThrough`, also through the ops that it accepts; those that lie
  /// between value and base are appended to `passed`.
  static View of(mlir::Value value, LookThrough lookThrough = nullptr,
                 llvm::SmallVectorImpl<mlir::Operation *> *passed = nullptr);

  /// Applies one reshape, transpose or broadcast; false (and no change) where
  /// its dims do not fit the atoms or it is none.
  bool apply(mlir::Operation *op);
  bool reshape(llvm::ArrayRef<int64_t> shape);
  void transpose(llvm::ArrayRef<int64_t> permutation);
  bool broadcast(llvm::ArrayRef<int64_t> shape);

  /// Splits the atoms of `list` (a dim, or several dims one after the other) so
  /// that boundaries fall where `sizes` (the factors of the same number,
  /// outermost first) ask for one; false where an atom cannot be split there.
  bool refine(Dim list, llvm::ArrayRef<int64_t> sizes);
  /// Refines dims [begin, end) taken together.
  bool refineDims(unsigned begin, unsigned end, llvm::ArrayRef<int64_t> sizes);

  mlir::Value base() const { return baseValue; }
  const Dims &dims() const { return resultDims; }
  const Dims &baseDims() const { return sourceDims; }
  const Atom &atom(unsigned index) const { return atoms[index]; }
  /// Atoms of dims [begin, end), outermost first.
  Dim flat(unsigned begin, unsigned end) const;
  llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<unsigned> list) const;
  int64_t product(llvm::ArrayRef<unsigned> list) const;
  bool isAllBroadcast(llvm::ArrayRef<unsigned> list) const;
  bool hasBroadcast() const;
  /// Whether no element moves: the base's atoms are in their own order.
  bool isReshape() const { return !needsTranspose(resultDims); }

  /// Builds the tensor with dims `target` (lists of this view's atoms; each
  /// atom of the base exactly once), with as few ops as possible.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location location,
                   const Dims &target) const;
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location location) const {
    return emit(builder, location, resultDims);
  }
  /// How many ops `emit` builds.
  unsigned emitCost(const Dims &target) const;
  /// Whether `emit` builds a transpose, which moves elements.
  bool needsTranspose(const Dims &target) const;

private:
  struct Step;
  llvm::SmallVector<Step, 4> plan(const Dims &target) const;
  void planArrangement(const Dims &groups,
                       llvm::SmallVectorImpl<Step> &steps) const;
  unsigned split(unsigned atom, int64_t outerSize);
  Dim flatBase() const;

  mlir::Value baseValue;
  llvm::SmallVector<Atom, 8> atoms;
  Dims sourceDims, resultDims;
};

/// Splits `list`s of two factorizations of one number into their common
/// refinement; nullopt where boundaries clash.
std::optional<llvm::SmallVector<int64_t>>
commonRefinement(llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right);

/// Whether `op` is a reshape, transpose or broadcast.
bool isViewOp(mlir::Operation *op);

} // namespace shardc::raise

#endif

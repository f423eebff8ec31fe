// The definition of one element of a tensor inside a kernel: the step by which
// kernels are read from their results back to their arguments, without ever
// holding a whole intermediate tensor.
#ifndef SHARDC_CODEGEN_KERNELS_TENSORDEFINITION_H
#define SHARDC_CODEGEN_KERNELS_TENSORDEFINITION_H

#include "codegen/kernels/IndexForm.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shardc::kernels {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}
inline int64_t elementsOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getNumElements();
}

/// An element of `tensor` at `index`.
struct Element {
  mlir::Value tensor;
  IndexForms index;
};

/// The condition low <= form < high.
struct IndexBound {
  IndexForm form;
  int64_t low, high;
  /// Returns whether it holds for all positions of the loops or for none;
  /// nothing where that is decided at run time.
  std::optional<bool> holds(const LoopExtents &extents) const;
  /// Returns whether it holds for all or none of the lanes of each vector of
  /// `vectorLanes` lanes that begins at a multiple of as many.
  bool sameInVector(const LoopExtents &extents, int64_t vectorLanes) const;
};

/// One of the sources of a concatenation, an insertion or a padding. It is
/// taken where all bounds hold.
struct Choice {
  llvm::SmallVector<IndexBound, 2> bounds;
  Element source;
  /// The value where there is no source tensor.
  mlir::Value scalar;
};

struct Definition {
  enum class Kind {
    Unknown,   // an op that kernels do not know
    Undefined, // tensor.empty
    Argument,  // an argument of the kernel
    Constant,  // a splat constant (`attribute`)
    Scalar,    // every element is the scalar `scalar`
    View,      // `choices[0].source`
    Choices,   // the first of `choices` whose bounds hold
    Compute,   // a linalg.generic at iteration `iteration`
    Reduce,    // a linalg.generic with reduction loops
  } kind = Kind::Unknown;
  mlir::TypedAttr attribute;
  mlir::Value scalar;
  llvm::SmallVector<Choice, 2> choices;
  mlir::linalg::GenericOp generic;
  /// With Compute: the index of each loop of `generic`.
  IndexForms iteration;
};

Definition define(const Element &element, const LoopExtents &extents);

/// Returns the strides of an argument that does not lie row by row, else
/// nothing.
mlir::DenseI64ArrayAttr stridesOf(mlir::Value tensor);
/// Returns where an element lies, in elements from where its tensor begins: row
/// by row, or by the strides that a kernel's argument has.
IndexForm placeOf(const Element &element, const LoopExtents &extents);

/// Returns the index of every loop of a generic for the result element `index`
/// of result `result`; reduction loops stay empty.
IndexForms iterationOf(mlir::linalg::GenericOp generic, unsigned result,
                       llvm::ArrayRef<IndexForm> index,
                       const LoopExtents &extents);
/// Returns the element that operand `operand` of a generic reads at
/// `iteration`.
Element operandElement(mlir::OpOperand &operand,
                       llvm::ArrayRef<IndexForm> iteration,
                       const LoopExtents &extents);

/// Returns an index value of a generic's body as a form of its iteration, or
/// nothing where it depends on data.
std::optional<IndexForm> symbolicIndex(mlir::Value index,
                                       llvm::ArrayRef<IndexForm> iteration,
                                       const LoopExtents &extents);

bool isReduction(mlir::linalg::GenericOp generic);

} // namespace shardc::kernels

#endif

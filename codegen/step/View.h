// Arithmetic on strided views of buffers: what reshape, transpose, slice and
// broadcast do to shape and strides without touching an element.
#ifndef SHARDC_CODEGEN_STEP_VIEW_H
#define SHARDC_CODEGEN_STEP_VIEW_H

#include "frontend/nn/support/ElementBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace shardc::step {

/// A strided tensor in a buffer. Strides are in elements; a broadcast dim has
/// stride 0.
struct View {
  mlir::Value buffer;
  int64_t offset = 0; // bytes
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;

  /// Row-major contiguous at `offset` of `buffer`.
  static View contiguous(mlir::Value buffer, int64_t offset,
                         mlir::ShapedType type);
  /// What a memref of step.view describes.
  static View of(mlir::Value memref);

  int64_t rank() const { return shape.size(); }
  int64_t elements() const;
  /// Bytes from the first element to behind the last one; 0 when empty.
  int64_t spanBytes() const;
  /// Whether the elements lie row-major without gaps. The stride of a dim of
  /// size 1 does not matter.
  bool isContiguous() const;

  /// The same elements in row-major order under another shape; nothing where
  /// no strides describe that.
  std::optional<View> reshape(llvm::ArrayRef<int64_t> newShape) const;
  View transpose(llvm::ArrayRef<int64_t> permutation) const;
  View slice(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
             llvm::ArrayRef<int64_t> steps) const;
  View broadcast(llvm::ArrayRef<int64_t> newShape) const;

  /// The same, with the strides that types have for dims of size 1, where any
  /// would do: those of a dense outer dim, which read best.
  View canonical() const;
  /// The type of the step.view: no layout where contiguous.
  mlir::MemRefType memrefType() const;
};

/// Returns the strides of an input that has that attribute, else nothing.
mlir::DenseI64ArrayAttr stridesOfInput(mlir::func::FuncOp kernel,
                                       unsigned input);
/// Returns how input `input` of a kernel lies: a view without a buffer.
View viewOfInput(mlir::func::FuncOp kernel, unsigned input);

} // namespace shardc::step

#endif

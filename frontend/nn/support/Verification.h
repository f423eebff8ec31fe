// What the ops' verifiers share: checks of shapes and element types that name
// both values.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_VERIFICATION_H
#define SHARDC_FRONTEND_NN_SUPPORT_VERIFICATION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace shardc::nn {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return tensorType(value).getShape();
}
/// Whether values are integers that int64 does not hold.
inline bool isUInt64(mlir::Value value) {
  return mlir::cast<mlir::ShapedType>(value.getType())
      .getElementType()
      .isUnsignedInteger(64);
}
inline mlir::Type elementTypeOf(mlir::Value value) {
  return tensorType(value).getElementType();
}

/// `what` names the value in the message: "result", "gamma".
llvm::LogicalResult expectRank(mlir::Operation *op, llvm::StringRef what,
                               mlir::Value value, int64_t rank);
llvm::LogicalResult expectRankAtLeast(mlir::Operation *op, llvm::StringRef what,
                                      mlir::Value value, int64_t rank);
llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef what,
                                mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);
llvm::LogicalResult expectElementType(mlir::Operation *op, llvm::StringRef what,
                                      mlir::Value value, mlir::Type expected);
/// Shape and element type.
llvm::LogicalResult expectType(mlir::Operation *op, llvm::StringRef what,
                               mlir::Value value, llvm::ArrayRef<int64_t> shape,
                               mlir::Type elementType);
/// Shape, and the element type or, where that has 16 bits, float32: a sum that
/// may stay unrounded.
llvm::LogicalResult expectTypeOrWide(mlir::Operation *op, llvm::StringRef what,
                                     mlir::Value value,
                                     llvm::ArrayRef<int64_t> shape,
                                     mlir::Type elementType);
/// Whether `axis` counts a dim of a tensor of `rank` dims.
llvm::LogicalResult expectAxis(mlir::Operation *op, llvm::StringRef what,
                               int64_t axis, int64_t rank);
/// Distinct dims of a tensor of `rank` dims.
llvm::LogicalResult expectDistinctAxes(mlir::Operation *op,
                                       llvm::StringRef what,
                                       llvm::ArrayRef<int64_t> axes,
                                       int64_t rank);
/// One entry per dim.
llvm::LogicalResult expectLength(mlir::Operation *op, llvm::StringRef what,
                                 llvm::ArrayRef<int64_t> values,
                                 int64_t length);

/// The shape of what is kept per row of a tensor: its last dim becomes 1.
llvm::SmallVector<int64_t> rowShape(mlir::Value value);

/// Product of sizes.
int64_t product(llvm::ArrayRef<int64_t> sizes);

/// 0, which is none, or a positive number.
llvm::LogicalResult expectSoftcap(mlir::Operation *op,
                                  const llvm::APFloat &softcap);

} // namespace shardc::nn

#endif

// Checks of shapes and element types for the ops' verifiers.
#include "frontend/nn/support/Verification.h"
#include "frontend/nn/support/KernelBuilder.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace shardc::nn {

LogicalResult expectRank(Operation *op, StringRef what, Value value,
                         int64_t rank) {
  if (tensorType(value).getRank() == rank)
    return success();
  return op->emitOpError("expects ")
         << what << " to have " << rank << " dims, got "
         << tensorType(value).getRank();
}

LogicalResult expectRankAtLeast(Operation *op, StringRef what, Value value,
                                int64_t rank) {
  if (tensorType(value).getRank() >= rank)
    return success();
  return op->emitOpError("expects ")
         << what << " to have at least " << rank << " dims, got "
         << tensorType(value).getRank();
}

LogicalResult expectShape(Operation *op, StringRef what, Value value,
                          ArrayRef<int64_t> expected) {
  if (failed(expectRank(op, what, value, expected.size())))
    return failure();
  for (auto [dim, sizes] :
       llvm::enumerate(llvm::zip_equal(expected, shapeOf(value))))
    if (std::get<0>(sizes) != std::get<1>(sizes))
      return op->emitOpError("expects dim ")
             << dim << " of " << what << " to be " << std::get<0>(sizes)
             << ", got " << std::get<1>(sizes);
  return success();
}

LogicalResult expectElementType(Operation *op, StringRef what, Value value,
                                Type expected) {
  if (elementTypeOf(value) == expected)
    return success();
  return op->emitOpError("expects elements of ")
         << what << " to be " << expected << ", got " << elementTypeOf(value);
}

LogicalResult expectType(Operation *op, StringRef what, Value value,
                         ArrayRef<int64_t> shape, Type elementType) {
  return success(succeeded(expectShape(op, what, value, shape)) &&
                 succeeded(expectElementType(op, what, value, elementType)));
}

LogicalResult expectTypeOrWide(Operation *op, StringRef what, Value value,
                               ArrayRef<int64_t> shape, Type elementType) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  Type wide = computeTypeOf(elementType);
  if (elementTypeOf(value) == elementType || elementTypeOf(value) == wide)
    return success();
  auto error = op->emitOpError("expects elements of ")
               << what << " to be " << elementType;
  if (wide != elementType)
    error << " or " << wide;
  return error << ", got " << elementTypeOf(value);
}

LogicalResult expectAxis(Operation *op, StringRef what, int64_t axis,
                         int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("expects ")
         << what << " to be in [0, " << rank << "), got " << axis;
}

LogicalResult expectDistinctAxes(Operation *op, StringRef what,
                                 ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (failed(expectAxis(op, what, axis, rank)))
      return failure();
    if (seen[axis])
      return op->emitOpError("expects ")
             << what << " to be distinct, got " << axis << " twice";
    seen[axis] = true;
  }
  return success();
}

LogicalResult expectLength(Operation *op, StringRef what,
                           ArrayRef<int64_t> values, int64_t length) {
  if (static_cast<int64_t>(values.size()) == length)
    return success();
  return op->emitOpError("expects ")
         << what << " to have " << length << " entries, got " << values.size();
}

SmallVector<int64_t> rowShape(Value value) {
  SmallVector<int64_t> shape(shapeOf(value));
  shape.back() = 1;
  return shape;
}

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

LogicalResult expectSoftcap(Operation *op, const APFloat &softcap) {
  if (softcap.isFinite() && !softcap.isNegative())
    return success();
  return op->emitOpError("expects softcap to be 0, which is none, or a "
                         "positive number, got ")
         << softcap.convertToDouble();
}

} // namespace shardc::nn

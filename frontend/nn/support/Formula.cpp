// Gradients as nn ops: the functions whose result types need working out.
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace shardc::nn {

Value Formula::constant(Value x, double value) {
  return ConstantOp::create(
      builder, loc, HostTensor::splat(tensorType(x), value).toAttribute());
}

Value Formula::compare(CompareKind kind, Value x, Value y) {
  return CompareOp::create(
      builder, loc, tensorType(x).clone(builder.getI1Type()), kind, x, y);
}

Value Formula::cast(Value x, Type elementType) {
  if (elementTypeOf(x) == elementType)
    return x;
  DenseElementsAttr constant;
  if (matchPattern(x, m_Constant(&constant)) && constant.isSplat())
    return ConstantOp::create(
        builder, loc,
        castTo(HostTensor::fromAttribute(constant), elementType).toAttribute());
  return CastOp::create(builder, loc, tensorType(x).clone(elementType), x);
}

Value Formula::reduceSum(Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t dim : dims)
    shape[dim] = 1;
  return ReduceSumOp::create(builder, loc, tensorType(x).clone(shape), x, dims);
}

Value Formula::broadcast(Value x, Value like) {
  if (shapeOf(x) == shapeOf(like))
    return x;
  return BroadcastOp::create(builder, loc, tensorType(x).clone(shapeOf(like)),
                             x);
}

Value Formula::reshape(Value x, ArrayRef<int64_t> shape) {
  return shapeOf(x) == shape
             ? x
             : Value(ReshapeOp::create(builder, loc, tensorType(x).clone(shape),
                                       x));
}

Value Formula::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  return TransposeOp::create(builder, loc, tensorType(x).clone(shape), x,
                             permutation);
}

} // namespace shardc::nn

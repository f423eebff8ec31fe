// Rotary positions.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

int64_t RopeOp::getRotatedHeads() {
  const int64_t heads = static_cast<int64_t>(getHeads());
  return heads ? heads : shapeOf(getInput())[2];
}

LogicalResult RopeOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), 4)) ||
      failed(expectRank(*this, "cos", getCos(), 3)))
    return failure();
  ArrayRef<int64_t> input = shapeOf(getInput());
  if (input[3] % 2 != 0)
    return emitOpError("expects an even head_dim, got ") << input[3];
  if (getRotatedHeads() < 0 || getRotatedHeads() > input[2])
    return emitOpError("expects heads of 0 to ")
           << input[2] << ", got " << getRotatedHeads();
  const int64_t batch = shapeOf(getCos())[0] == 1 ? 1 : input[0];
  if (failed(
          expectShape(*this, "cos", getCos(), {batch, input[1], input[3]})) ||
      failed(expectShape(*this, "sin", getSin(), shapeOf(getCos()))))
    return failure();
  return expectType(*this, "result", getResult(), input,
                    elementTypeOf(getInput()));
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::differentiate(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &operandGradients) {
  if (needed[1] || needed[2])
    return emitOpError("has no gradient of its angles; freeze the parameters "
                       "that they come from");
  operandGradients.assign(3, Value());
  operandGradients[0] = RopeOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getCos(),
      getSin(), getInterleaved(), !getTransposed(), getHeads());
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t RopeOp::flops() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  return 3 * shape[0] * shape[1] * getRotatedHeads() * shape[3];
}

//===----------------------------------------------------------------------===//
// Types of operands
//===----------------------------------------------------------------------===//

OperandType RopeOp::operandType(OpOperand &operand) {
  return &operand == &getInputMutable() ? OperandType::Computed
                                        : OperandType::Any;
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

LogicalResult RopeOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const ArrayRef<int64_t> shape = type.getShape();
  const int64_t dim = shape[3], half = dim / 2;
  const Floats x = operands[0].toFloats();
  Floats y(x.size());
  int64_t first = 0;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t s = 0; s < shape[1]; ++s)
      for (int64_t h = 0; h < shape[2]; ++h, first += dim)
        for (int64_t d = 0; d < dim; ++d) {
          if (h >= getRotatedHeads()) {
            y[first + d] = x[first + d];
            continue;
          }
          // rotate_half(x)[d] = sign * x[partner]; its transpose has the other
          // sign and reads sin at the partner.
          const bool isFirst = getInterleaved() ? d % 2 == 0 : d < half;
          const int64_t partner = getInterleaved() ? d ^ 1 : (d + half) % dim;
          const double sign = isFirst == getTransposed() ? 1 : -1;
          const int64_t angles = operands[1].shape()[0] == 1 ? 0 : b;
          y[first + d] = x[first + d] * operands[1].floatAt({angles, s, d}) +
                         sign * x[first + partner] *
                             operands[2].floatAt(
                                 {angles, s, getTransposed() ? partner : d});
        }
  results.push_back(HostTensor::floats(type, std::move(y)));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel body
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                  SmallVectorImpl<Value> &results) {
  // The two elements of each pair are slices of the last dim: halves, or every
  // second element.
  auto type = tensorType(getResult());
  const int64_t half = type.getShape().back() / 2,
                step = getInterleaved() ? 2 : 1;
  const int64_t heads = getRotatedHeads();
  auto slice = [&](Value from, int64_t start) -> Value {
    const int64_t rank = tensorType(from).getRank();
    SmallVector<int64_t> starts(rank, 0), sizes(shapeOf(from)), steps(rank, 1);
    starts.back() = start;
    sizes.back() = half;
    steps.back() = step;
    if (rank == 4)
      sizes[2] = heads;
    return tensor::ExtractSliceOp::create(
        builder, getLoc(), tensorType(from).clone(sizes), from, ValueRange(),
        ValueRange(), ValueRange(), starts, sizes, steps);
  };
  const int64_t second = getInterleaved() ? 1 : half;
  auto x = std::pair(slice(operands[0], 0), slice(operands[0], second));
  auto cos = std::pair(slice(operands[1], 0), slice(operands[1], second));
  auto sin = std::pair(slice(operands[2], 0), slice(operands[2], second));

  KernelBuilder kernel(builder, getLoc());
  AffineMap all = builder.getMultiDimIdentityMap(4);
  AffineExpr batch = shapeOf(getCos())[0] == 1
                         ? builder.getAffineConstantExpr(0)
                         : builder.getAffineDimExpr(0);
  AffineMap angle = AffineMap::get(
      4, 0, {batch, builder.getAffineDimExpr(1), builder.getAffineDimExpr(3)},
      getContext());
  // own * cos + sign * other * sin
  auto rotate = [&](Value own, Value ownCos, Value other, Value otherSin,
                    bool subtract) {
    return kernel.map(
        tensorType(own), {own, ownCos, other, otherSin},
        {all, angle, all, angle},
        [&](OpBuilder &nested, ValueRange s) -> Value {
          Value kept = arith::MulFOp::create(nested, getLoc(), s[0], s[1]);
          Value turned = arith::MulFOp::create(nested, getLoc(), s[2], s[3]);
          if (subtract)
            return arith::SubFOp::create(nested, getLoc(), kept, turned);
          return arith::AddFOp::create(nested, getLoc(), kept, turned);
        });
  };
  const bool transposed = getTransposed();
  Value first = rotate(x.first, cos.first, x.second,
                       transposed ? sin.second : sin.first, !transposed);
  Value last = rotate(x.second, cos.second, x.first,
                      transposed ? sin.first : sin.second, transposed);

  Value joined = tensor::EmptyOp::create(builder, getLoc(), type.getShape(),
                                         type.getElementType());
  for (auto [part, start] :
       {std::pair(first, int64_t(0)), std::pair(last, second)}) {
    SmallVector<int64_t> starts(4, 0), steps(4, 1);
    starts.back() = start;
    steps.back() = step;
    joined = tensor::InsertSliceOp::create(
        builder, getLoc(), part, joined, ValueRange(), ValueRange(),
        ValueRange(), starts, shapeOf(part), steps);
  }
  if (heads < type.getShape()[2]) {
    SmallVector<int64_t> starts{0, 0, heads, 0}, sizes(type.getShape()),
        steps(4, 1);
    sizes[2] -= heads;
    Value others = tensor::ExtractSliceOp::create(
        builder, getLoc(), type.clone(sizes), operands[0], ValueRange(),
        ValueRange(), ValueRange(), starts, sizes, steps);
    joined = tensor::InsertSliceOp::create(builder, getLoc(), others, joined,
                                           ValueRange(), ValueRange(),
                                           ValueRange(), starts, sizes, steps);
  }
  results.push_back(joined);
  return success();
}

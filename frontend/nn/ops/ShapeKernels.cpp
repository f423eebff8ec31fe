// Kernel bodies of ops that move elements.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace shardc::nn;

LogicalResult ReshapeOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  results.push_back(KernelBuilder(builder, getLoc())
                        .reshape(operands[0], shapeOf(getResult())));
  return success();
}

static Value same(OpBuilder &, ValueRange x) { return x[0]; }

LogicalResult TransposeOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  SmallVector<AffineExpr> positions(getPermutation().size());
  for (auto [loop, dim] : llvm::enumerate(getPermutation()))
    positions[dim] = builder.getAffineDimExpr(loop);
  AffineMap read = AffineMap::get(positions.size(), 0, positions, getContext());
  results.push_back(KernelBuilder(builder, getLoc())
                        .map(tensorType(getResult()), operands[0], read, same));
  return success();
}

LogicalResult BroadcastOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  results.push_back(KernelBuilder(builder, getLoc())
                        .map(tensorType(getResult()), operands[0], same));
  return success();
}

LogicalResult SliceOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                   SmallVectorImpl<Value> &results) {
  results.push_back(tensor::ExtractSliceOp::create(
      builder, getLoc(), tensorType(getResult()), operands[0], ValueRange(),
      ValueRange(), ValueRange(), getStarts(), shapeOf(getResult()),
      getStrides()));
  return success();
}

LogicalResult ReverseOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  // Reads run backwards, which no map of a tile can say: each element is
  // fetched by its position.
  auto type = tensorType(getResult());
  KernelBuilder kernel(builder, getLoc());
  results.push_back(kernel.map(
      type, ValueRange(), [&](OpBuilder &nested, ValueRange) -> Value {
        SmallVector<Value> position;
        for (int64_t dim = 0; dim < type.getRank(); ++dim) {
          Value index = linalg::IndexOp::create(nested, getLoc(), dim);
          if (llvm::is_contained(getDims(), dim)) {
            Value last = arith::ConstantIndexOp::create(
                nested, getLoc(), type.getDimSize(dim) - 1);
            index = arith::SubIOp::create(nested, getLoc(), last, index);
          }
          position.push_back(index);
        }
        return tensor::ExtractOp::create(nested, getLoc(), operands[0],
                                         position);
      }));
  return success();
}

/// `source` written into `into` at starts[d] + i * steps[d].
static Value insertAt(OpBuilder &builder, Location loc, Value source,
                      Value into, ArrayRef<int64_t> starts,
                      ArrayRef<int64_t> steps) {
  return tensor::InsertSliceOp::create(builder, loc, source, into, ValueRange(),
                                       ValueRange(), ValueRange(), starts,
                                       shapeOf(source), steps);
}

LogicalResult ConcatOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                    SmallVectorImpl<Value> &results) {
  auto type = tensorType(getResult());
  Value joined = tensor::EmptyOp::create(builder, getLoc(), type.getShape(),
                                         type.getElementType());
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  for (Value input : operands) {
    joined = insertAt(builder, getLoc(), input, joined, starts, steps);
    starts[getAxis()] += shapeOf(input)[getAxis()];
  }
  results.push_back(joined);
  return success();
}

LogicalResult PadOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                 SmallVectorImpl<Value> &results) {
  auto type = tensorType(getResult());
  Value empty = tensor::EmptyOp::create(builder, getLoc(), type.getShape(),
                                        type.getElementType());
  Value zero =
      KernelBuilder(builder, getLoc()).constant(type.getElementType(), 0);
  Value zeros =
      linalg::FillOp::create(builder, getLoc(), zero, empty).getResult(0);
  SmallVector<int64_t> steps;
  for (int64_t gap : getInterior())
    steps.push_back(gap + 1);
  results.push_back(
      insertAt(builder, getLoc(), operands[0], zeros, getLow(), steps));
  return success();
}

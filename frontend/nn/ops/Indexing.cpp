// Ops that read or write at positions known at run time.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// data with dim `axis` replaced by the dims of indices.
static SmallVector<int64_t>
gatheredShape(ArrayRef<int64_t> data, ArrayRef<int64_t> indices, int64_t axis) {
  SmallVector<int64_t> shape(data.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, data.drop_front(axis + 1));
  return shape;
}

LogicalResult EmbeddingOp::verify() {
  if (failed(expectRank(*this, "table", getTable(), 2)))
    return failure();
  return expectType(*this, "result", getResult(),
                    gatheredShape(shapeOf(getTable()), shapeOf(getIds()), 0),
                    elementTypeOf(getTable()));
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(expectRank(*this, "result", getResult(), 2)))
    return failure();
  return expectType(*this, "gradient", getGradient(),
                    gatheredShape(shapeOf(getResult()), shapeOf(getIds()), 0),
                    elementTypeOf(getResult()));
}

LogicalResult GatherOp::verify() {
  if (failed(expectAxis(*this, "axis", getAxis(),
                        tensorType(getData()).getRank())))
    return failure();
  return expectType(
      *this, "result", getResult(),
      gatheredShape(shapeOf(getData()), shapeOf(getIndices()), getAxis()),
      elementTypeOf(getData()));
}

LogicalResult GatherGradOp::verify() {
  if (failed(expectAxis(*this, "axis", getAxis(),
                        tensorType(getResult()).getRank())))
    return failure();
  return expectType(
      *this, "gradient", getGradient(),
      gatheredShape(shapeOf(getResult()), shapeOf(getIndices()), getAxis()),
      elementTypeOf(getResult()));
}

LogicalResult GatherNdOp::verify() {
  ArrayRef<int64_t> data = shapeOf(getData()), indices = shapeOf(getIndices());
  const int64_t batchDims = getBatchDims();
  if (failed(expectRankAtLeast(*this, "indices", getIndices(), 1)))
    return failure();
  if (batchDims < 0 ||
      batchDims >= static_cast<int64_t>(std::min(data.size(), indices.size())))
    return emitOpError("expects batch_dims to be in [0, ")
           << std::min(data.size(), indices.size()) << "), got " << batchDims;
  for (int64_t dim = 0; dim < batchDims; ++dim)
    if (data[dim] != indices[dim])
      return emitOpError("expects dim ")
             << dim << " of indices to be the data's " << data[dim] << ", got "
             << indices[dim];
  const int64_t tuple = indices.back(), rank = data.size();
  if (tuple < 1 || tuple > rank - batchDims)
    return emitOpError("expects index tuples of 1 to ")
           << rank - batchDims << " entries, got " << tuple;
  SmallVector<int64_t> expected(indices.drop_back());
  llvm::append_range(expected, data.drop_front(batchDims + tuple));
  return expectType(*this, "result", getResult(), expected,
                    elementTypeOf(getData()));
}

LogicalResult CumsumOp::verify() {
  return expectAxis(*this, "axis", getAxis(), tensorType(getInput()).getRank());
}

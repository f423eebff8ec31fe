// Ops that read or write at positions known at run time.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

#include <numeric>

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
  if (getBase() &&
      failed(expectType(*this, "base", getBase(), shapeOf(getResult()),
                        elementTypeOf(getResult()))))
    return failure();
  if (failed(expectRank(*this, "result", getResult(), 2)) ||
      failed(expectShape(
          *this, "gradient", getGradient(),
          gatheredShape(shapeOf(getResult()), shapeOf(getIds()), 0))))
    return failure();
  return expectTypeOrWide(*this, "result", getResult(), shapeOf(getResult()),
                          elementTypeOf(getGradient()));
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
                        tensorType(getResult()).getRank())) ||
      failed(expectShape(*this, "gradient", getGradient(),
                         gatheredShape(shapeOf(getResult()),
                                       shapeOf(getIndices()), getAxis()))))
    return failure();
  return expectTypeOrWide(*this, "result", getResult(), shapeOf(getResult()),
                          elementTypeOf(getGradient()));
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

LogicalResult TopKOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(getInput()));
  const int64_t size = shape.back();
  if (ArrayRef<int64_t> values = shapeOf(getValues());
      values.size() == shape.size()) {
    shape.back() = values.back();
    if (shape.back() > size)
      return emitOpError("expects at most the ")
             << size << " elements of a row, got " << shape.back();
  }
  if (failed(expectType(*this, "values", getValues(), shape,
                        elementTypeOf(getInput()))))
    return failure();
  return expectType(*this, "indices", getIndices(), shape,
                    IntegerType::get(getContext(), 64));
}

LogicalResult CumsumOp::verify() {
  return expectAxis(*this, "axis", getAxis(), tensorType(getInput()).getRank());
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
EmbeddingOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(EmbeddingGradOp::create(
      builder, getLoc(), getTable().getType(), resultGradients[0], getIds(),
      /*base=*/Value()));
  operandGradients.push_back(Value());
  return success();
}

LogicalResult
GatherOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      GatherGradOp::create(builder, getLoc(), getData().getType(),
                           resultGradients[0], getIndices(), getAxis()));
  operandGradients.push_back(Value());
  return success();
}

LogicalResult
GatherGradOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  Value taken = GatherOp::create(
      builder, getLoc(),
      tensorType(getGradient()).clone(elementTypeOf(resultGradients[0])),
      resultGradients[0], getIndices(), getAxis());
  operandGradients.push_back(f.cast(taken, elementTypeOf(getGradient())));
  operandGradients.push_back(Value());
  return success();
}

/// The gradient of `data` where `gradient` is that of nn.gather_nd's result:
/// with the indexed dims as one it is a gather along that dim, whose index is
/// the tuple's row-major position.
static Value gradientAtTuples(OpBuilder &builder, Location loc, Value dataOf,
                              Value indices, int64_t batchDims,
                              Value gradient) {
  Formula f(builder, loc);
  const int64_t tuple = shapeOf(indices).back();
  ArrayRef<int64_t> data = shapeOf(dataOf),
                    tuples = shapeOf(indices).drop_back();
  Value position;
  auto append = [&](Value index, int64_t size) {
    position = position ? f.add(f.scale(position, size), index) : index;
  };
  auto tupleType = tensorType(indices).clone(tuples);
  for (int64_t dim = 0; dim < batchDims; ++dim) {
    SmallVector<int64_t> shape(tuples.size(), 1);
    shape[dim] = data[dim];
    HostTensor::Ints counts(data[dim]);
    std::iota(counts.begin(), counts.end(), 0);
    const HostTensor grid =
        HostTensor::ints(tupleType.clone(shape), std::move(counts))
            .broadcastTo(tupleType);
    append(ConstantOp::create(builder, loc, grid.toAttribute()), data[dim]);
  }
  for (int64_t i = 0; i < tuple; ++i) {
    SmallVector<int64_t> starts(tuples.size() + 1, 0), limits(shapeOf(indices)),
        steps(starts.size(), 1), one(tuples);
    one.push_back(1);
    starts.back() = i;
    limits.back() = i + 1;
    Value index = f.reshape(SliceOp::create(builder, loc, tupleType.clone(one),
                                            indices, starts, limits, steps),
                            tuples);
    const int64_t size = data[batchDims + i];
    Value isNegative = f.compare(CompareKind::lt, index, f.constant(index, 0));
    append(f.select(isNegative, f.add(index, f.constant(index, size)), index),
           size);
  }
  ArrayRef<int64_t> rest = data.drop_front(batchDims + tuple);
  SmallVector<int64_t> flat{product(data.take_front(batchDims + tuple))};
  llvm::append_range(flat, rest);
  Value sums =
      GatherGradOp::create(builder, loc, tensorType(dataOf).clone(flat),
                           gradient, position, /*axis=*/0);
  return f.reshape(sums, data);
}

LogicalResult
GatherNdOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(gradientAtTuples(builder, getLoc(), getData(),
                                              getIndices(), getBatchDims(),
                                              resultGradients[0]));
  operandGradients.push_back(Value());
  return success();
}

LogicalResult TopKOp::differentiate(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &operandGradients) {
  // Values are what nn.gather_nd takes at the indices.
  SmallVector<int64_t> tuples(shapeOf(getIndices()));
  tuples.push_back(1);
  Value indices = Formula(builder, getLoc()).reshape(getIndices(), tuples);
  operandGradients.push_back(gradientAtTuples(builder, getLoc(), getInput(),
                                              indices, tuples.size() - 2,
                                              resultGradients[0]));
  return success();
}

LogicalResult
CumsumOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(CumsumOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxis(),
      getExclusive(), !getReverse()));
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t EmbeddingGradOp::flops() {
  return tensorType(getGradient()).getNumElements();
}
int64_t GatherGradOp::flops() {
  return tensorType(getGradient()).getNumElements();
}
int64_t TopKOp::flops() { return tensorType(getInput()).getNumElements(); }
int64_t CumsumOp::flops() { return tensorType(getInput()).getNumElements(); }

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

std::optional<PositionRange> EmbeddingOp::positionsOf(OpOperand &operand) {
  if (&operand != &getIdsMutable())
    return std::nullopt;
  return PositionRange{0, shapeOf(getTable())[0] - 1};
}

std::optional<PositionRange> EmbeddingGradOp::positionsOf(OpOperand &operand) {
  if (&operand != &getIdsMutable())
    return std::nullopt;
  return PositionRange{0, shapeOf(getResult())[0] - 1};
}

std::optional<PositionRange> GatherOp::positionsOf(OpOperand &operand) {
  if (&operand != &getIndicesMutable())
    return std::nullopt;
  const int64_t size = shapeOf(getData())[getAxis()];
  return PositionRange{-size, size - 1};
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

/// `index` counted from the start, if it lies in [-size, size) (or [0, size)
/// where negative ones do not count).
static LogicalResult resolveIndex(Operation *op, int64_t &index, int64_t size,
                                  bool fromEnd) {
  if (index < (fromEnd ? -size : 0) || index >= size)
    return op->emitOpError("expects indices in [")
           << (fromEnd ? -size : 0) << ", " << size << "), got " << index;
  index += index < 0 ? size : 0;
  return success();
}

/// A tensor of `type` whose element i is element source[i] of `data` (in
/// row-major order).
static HostTensor pickElements(RankedTensorType type, const HostTensor &data,
                               ArrayRef<int64_t> source) {
  if (data.isFloat()) {
    HostTensor::Floats picked;
    for (int64_t position : source)
      picked.push_back(data.floatAt(position));
    return HostTensor::floats(type, std::move(picked));
  }
  HostTensor::Ints picked;
  for (int64_t position : source)
    picked.push_back(data.intAt(position));
  return HostTensor::ints(type, std::move(picked));
}

/// Data with dim `axis` replaced by the indices' dims. Neither is written out
/// along its broadcast dims.
static LogicalResult gather(Operation *op, const HostTensor &wholeData,
                            const HostTensor &wholeIndices, int64_t axis,
                            bool negative,
                            SmallVectorImpl<HostTensor> &results) {
  const HostTensor indices = wholeIndices.compact();
  SmallVector<int64_t> sizes(wholeData.compact().shape());
  sizes[axis] = wholeData.shape()[axis];
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  const HostTensor data = wholeData.sliced(starts, sizes, steps);

  HostTensor::Ints positions = indices.toInts();
  for (int64_t &index : positions)
    if (failed(resolveIndex(op, index, sizes[axis], negative)))
      return failure();
  const int64_t outer = product(data.shape().take_front(axis)),
                inner = product(data.shape().drop_front(axis + 1));
  SmallVector<int64_t> source;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : positions)
      for (int64_t i = 0; i < inner; ++i)
        source.push_back((o * sizes[axis] + index) * inner + i);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto cut = type.clone(gatheredShape(data.shape(), indices.shape(), axis));
  results.push_back(pickElements(cut, data, source).broadcastTo(type));
  return success();
}

/// The transpose of `gather`: slices of `gradient` added at the indices, in
/// their order.
static LogicalResult scatterAdd(Operation *op, const HostTensor &gradient,
                                const HostTensor &indices, int64_t axis,
                                bool negative,
                                SmallVectorImpl<HostTensor> &results,
                                const HostTensor *base = nullptr) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  const HostTensor::Floats values = gradient.toFloats();
  HostTensor::Floats sums(type.getNumElements(), 0);
  if (base)
    sums = base->toFloats();
  const HostTensor::Ints positions = indices.toInts();
  const int64_t outer = product(type.getShape().take_front(axis)),
                inner = product(type.getShape().drop_front(axis + 1));
  size_t next = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : positions) {
      if (failed(resolveIndex(op, index, type.getDimSize(axis), negative)))
        return failure();
      for (int64_t i = 0; i < inner; ++i)
        sums[(o * type.getDimSize(axis) + index) * inner + i] += values[next++];
    }
  results.push_back(HostTensor::floats(type, std::move(sums)));
  return success();
}

LogicalResult EmbeddingOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  return gather(*this, operands[0], operands[1], 0, /*negative=*/false,
                results);
}

LogicalResult EmbeddingGradOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  return scatterAdd(*this, operands[0], operands[1], 0, /*negative=*/false,
                    results, getBase() ? &operands[2] : nullptr);
}

LogicalResult GatherOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  return gather(*this, operands[0], operands[1], getAxis(), /*negative=*/true,
                results);
}

LogicalResult GatherGradOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  return scatterAdd(*this, operands[0], operands[1], getAxis(),
                    /*negative=*/true, results);
}

LogicalResult GatherNdOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &wholeIndices = operands[1];
  const int64_t batchDims = getBatchDims(), tuple = wholeIndices.shape().back();
  // Index tuples are not written out along dims where they repeat: index grids
  // of masks are made by Expand. (Batch dims and the tuple itself stay whole.)
  SmallVector<int64_t> sizes(wholeIndices.shape());
  for (int64_t dim = batchDims; dim + 1 < wholeIndices.rank(); ++dim)
    if (wholeIndices.isBroadcastAlong(dim) && sizes[dim] > 1)
      sizes[dim] = 1;
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  const HostTensor::Ints indices =
      wholeIndices.sliced(starts, sizes, steps).toInts();

  const ArrayRef<int64_t> indexed = data.shape().slice(batchDims, tuple);
  const int64_t inner = product(data.shape().drop_front(batchDims + tuple));
  const int64_t tuplesPerBatch =
      product(ArrayRef<int64_t>(sizes).drop_front(batchDims).drop_back());
  SmallVector<int64_t> source;
  for (size_t first = 0; first < indices.size(); first += tuple) {
    int64_t position = static_cast<int64_t>(first) / tuple / tuplesPerBatch;
    for (int64_t i = 0; i < tuple; ++i) {
      int64_t index = indices[first + i];
      if (failed(resolveIndex(*this, index, indexed[i], /*fromEnd=*/true)))
        return failure();
      position = position * indexed[i] + index;
    }
    for (int64_t i = 0; i < inner; ++i)
      source.push_back(position * inner + i);
  }
  auto type = tensorType(getResult());
  SmallVector<int64_t> cut(ArrayRef<int64_t>(sizes).drop_back());
  llvm::append_range(cut, data.shape().drop_front(batchDims + tuple));
  results.push_back(
      pickElements(type.clone(cut), data, source).broadcastTo(type));
  return success();
}

LogicalResult TopKOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  // Rows that repeat are sorted once.
  SmallVector<int64_t> sizes(operands[0].compact().shape());
  sizes.back() = operands[0].shape().back();
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  const HostTensor input = operands[0].sliced(starts, sizes, steps);
  const int64_t size = sizes.back(), kept = shapeOf(getIndices()).back();
  HostTensor::Ints source, places;
  auto select = [&](auto values) {
    // What is no number is the largest.
    auto isLess = [](auto a, auto b) { return a < b || (a == a && b != b); };
    for (int64_t row = 0; row < static_cast<int64_t>(values.size());
         row += size) {
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq(row, row + size));
      llvm::stable_sort(order, [&](int64_t a, int64_t b) {
        return getSmallest() ? isLess(values[a], values[b])
                             : isLess(values[b], values[a]);
      });
      for (int64_t position : ArrayRef(order).take_front(kept)) {
        source.push_back(position);
        places.push_back(position - row);
      }
    }
  };
  if (input.isFloat()) {
    select(input.toFloats());
  } else {
    HostTensor::Ints values = input.toInts();
    if (isUInt64(getInput()))
      select(std::vector<uint64_t>(values.begin(), values.end()));
    else
      select(std::move(values));
  }
  sizes.back() = kept;
  auto valuesType = tensorType(getValues()),
       indicesType = tensorType(getIndices());
  results.push_back(pickElements(valuesType.clone(sizes), input, source)
                        .broadcastTo(valuesType));
  results.push_back(
      HostTensor::ints(indicesType.clone(sizes), std::move(places))
          .broadcastTo(indicesType));
  return success();
}

LogicalResult CumsumOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t axis = getAxis(), length = type.getDimSize(axis);
  // Along the other dims, only as much is written out as varies.
  SmallVector<int64_t> sizes(operands[0].compact().shape());
  sizes[axis] = length;
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  const HostTensor input = operands[0].sliced(starts, sizes, steps);
  const int64_t inner = product(input.shape().drop_front(axis + 1));
  auto accumulate = [&](auto values) {
    for (int64_t first = 0; first < static_cast<int64_t>(values.size());
         first += length * inner)
      for (int64_t i = 0; i < inner; ++i) {
        typename decltype(values)::value_type sum = 0;
        for (int64_t step = 0; step < length; ++step) {
          auto &value =
              values[first + (getReverse() ? length - 1 - step : step) * inner +
                     i];
          const auto before = sum;
          sum += value;
          value = getExclusive() ? before : sum;
        }
      }
    return values;
  };
  results.push_back(
      (input.isFloat()
           ? HostTensor::floats(input.type(), accumulate(input.toFloats()))
           : HostTensor::ints(input.type(), accumulate(input.toInts())))
          .broadcastTo(type));
  return success();
}

// Ops that move elements without computing on them.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (tensorType(getInput()).getNumElements() !=
      tensorType(getResult()).getNumElements())
    return emitOpError("expects as many elements as the input's ")
           << tensorType(getInput()).getNumElements() << ", got "
           << tensorType(getResult()).getNumElements();
  return expectElementType(*this, "result", getResult(),
                           elementTypeOf(getInput()));
}

LogicalResult TransposeOp::verify() {
  const int64_t rank = tensorType(getInput()).getRank();
  if (failed(expectLength(*this, "permutation", getPermutation(), rank)) ||
      failed(expectDistinctAxes(*this, "permutation", getPermutation(), rank)))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim : getPermutation())
    expected.push_back(shapeOf(getInput())[dim]);
  return expectType(*this, "result", getResult(), expected,
                    elementTypeOf(getInput()));
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (failed(expectRank(*this, "result", getResult(), from.size())))
    return failure();
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(from, to)))
    if (std::get<0>(sizes) != 1 && std::get<0>(sizes) != std::get<1>(sizes))
      return emitOpError("expects dim ")
             << dim << " of result to be " << std::get<0>(sizes) << ", got "
             << std::get<1>(sizes) << "; only dims of size 1 repeat";
  return expectElementType(*this, "result", getResult(),
                           elementTypeOf(getInput()));
}

LogicalResult SliceOp::verify() {
  const int64_t rank = tensorType(getInput()).getRank();
  if (failed(expectLength(*this, "starts", getStarts(), rank)) ||
      failed(expectLength(*this, "limits", getLimits(), rank)) ||
      failed(expectLength(*this, "strides", getStrides(), rank)))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim = 0; dim < rank; ++dim) {
    const int64_t start = getStarts()[dim], limit = getLimits()[dim],
                  stride = getStrides()[dim];
    const int64_t size = shapeOf(getInput())[dim];
    if (start < 0 || start > limit || limit > size)
      return emitOpError("expects 0 <= start <= limit <= ")
             << size << " in dim " << dim << ", got start " << start
             << " and limit " << limit;
    if (stride < 1)
      return emitOpError("expects a positive stride in dim ")
             << dim << ", got " << stride;
    expected.push_back((limit - start + stride - 1) / stride);
  }
  return expectType(*this, "result", getResult(), expected,
                    elementTypeOf(getInput()));
}

LogicalResult ReverseOp::verify() {
  return expectDistinctAxes(*this, "dims", getDims(),
                            tensorType(getInput()).getRank());
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  const int64_t axis = getAxis();
  if (failed(expectAxis(*this, "axis", axis,
                        tensorType(getInputs().front()).getRank())))
    return failure();
  SmallVector<int64_t> expected(shapeOf(getInputs().front()));
  expected[axis] = 0;
  for (Value input : getInputs()) {
    SmallVector<int64_t> others(expected);
    if (tensorType(input).getRank() == static_cast<int64_t>(others.size()))
      others[axis] = shapeOf(input)[axis];
    if (failed(expectType(*this, "each input", input, others,
                          elementTypeOf(getResult()))))
      return failure();
    expected[axis] += shapeOf(input)[axis];
  }
  return expectShape(*this, "result", getResult(), expected);
}

LogicalResult PadOp::verify() {
  const int64_t rank = tensorType(getInput()).getRank();
  if (failed(expectLength(*this, "low", getLow(), rank)) ||
      failed(expectLength(*this, "high", getHigh(), rank)) ||
      failed(expectLength(*this, "interior", getInterior(), rank)))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim = 0; dim < rank; ++dim) {
    const int64_t low = getLow()[dim], high = getHigh()[dim],
                  interior = getInterior()[dim];
    if (low < 0 || high < 0 || interior < 0)
      return emitOpError("expects padding of 0 or more in dim ")
             << dim << ", got " << low << ", " << high << ", " << interior;
    const int64_t size = shapeOf(getInput())[dim];
    expected.push_back(low + high + size +
                       (size > 0 ? (size - 1) * interior : 0));
  }
  return expectType(*this, "result", getResult(), expected,
                    elementTypeOf(getInput()));
}

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (Attribute folded = foldMove(adaptor.getInput(), getResult(),
                                  [&](const HostTensor &input) {
                                    return input.reshaped(shapeOf(getResult()));
                                  }))
    return folded;
  auto producer = getInput().getDefiningOp<ReshapeOp>();
  if (!producer)
    return {};
  if (producer.getInput().getType() == getResult().getType())
    return producer.getInput();
  getInputMutable().assign(producer.getInput());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return getInput();
  if (Attribute folded = foldMove(adaptor.getInput(), getResult(),
                                  [&](const HostTensor &input) {
                                    return input.transposed(permutation);
                                  }))
    return folded;
  auto producer = getInput().getDefiningOp<TransposeOp>();
  if (!producer)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : permutation)
    composed.push_back(producer.getPermutation()[dim]);
  setPermutation(composed);
  getInputMutable().assign(producer.getInput());
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(tensorType(getResult()));
  auto producer = getInput().getDefiningOp<BroadcastOp>();
  if (!producer)
    return {};
  getInputMutable().assign(producer.getInput());
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return foldMove(
      adaptor.getInput(), getResult(), [&](const HostTensor &input) {
        return input.sliced(getStarts(), shapeOf(getResult()), getStrides());
      });
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  // Empty inputs come from shape arithmetic; a concat of one input is the
  // input.
  for (Value input : getInputs())
    if (input.getType() == getResult().getType())
      return input;
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType()
             ? OpFoldResult(getInput())
             : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// The input's shape in the type of the result's gradient, which the gradient
/// of a move keeps: that of a parameter may be wider than the parameter.
static RankedTensorType gradientType(Value input, ValueRange resultGradients) {
  return tensorType(input).clone(elementTypeOf(resultGradients[0]));
}

LogicalResult
ReshapeOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      Formula(builder, getLoc())
          .reshape(resultGradients[0], shapeOf(getInput())));
  return success();
}

LogicalResult
TransposeOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [position, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = position;
  operandGradients.push_back(
      Formula(builder, getLoc()).transpose(resultGradients[0], inverse));
  return success();
}

LogicalResult
BroadcastOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  SmallVector<int64_t> repeated;
  for (auto [dim, sizes] : llvm::enumerate(
           llvm::zip_equal(shapeOf(getInput()), shapeOf(getResult()))))
    if (std::get<0>(sizes) != std::get<1>(sizes))
      repeated.push_back(dim);
  operandGradients.push_back(
      Formula(builder, getLoc()).reduceSum(resultGradients[0], repeated));
  return success();
}

LogicalResult SliceOp::differentiate(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &operandGradients) {
  // What was taken goes back to its place; the rest of the input has no part in
  // the result.
  SmallVector<int64_t> high, interior;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getResult()))) {
    if (size == 0) {
      operandGradients.push_back(Value());
      return success();
    }
    const int64_t last = getStarts()[dim] + (size - 1) * getStrides()[dim];
    high.push_back(shapeOf(getInput())[dim] - 1 - last);
    interior.push_back(getStrides()[dim] - 1);
  }
  operandGradients.push_back(PadOp::create(
      builder, getLoc(), gradientType(getInput(), resultGradients),
      resultGradients[0], getStarts(), high, interior));
  return success();
}

LogicalResult
ReverseOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(ReverseOp::create(
      builder, getLoc(), gradientType(getInput(), resultGradients),
      resultGradients[0], getDims()));
  return success();
}

LogicalResult
ConcatOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  SmallVector<int64_t> starts(shapeOf(getResult()).size(), 0),
      steps(starts.size(), 1);
  for (auto [input, isNeeded] : llvm::zip_equal(getInputs(), needed)) {
    SmallVector<int64_t> limits(shapeOf(getResult()));
    limits[getAxis()] = starts[getAxis()] + shapeOf(input)[getAxis()];
    operandGradients.push_back(
        isNeeded ? Value(SliceOp::create(
                       builder, getLoc(), gradientType(input, resultGradients),
                       resultGradients[0], starts, limits, steps))
                 : Value());
    starts[getAxis()] = limits[getAxis()];
  }
  return success();
}

LogicalResult PadOp::differentiate(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &operandGradients) {
  SmallVector<int64_t> limits, steps;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getInput()))) {
    steps.push_back(getInterior()[dim] + 1);
    limits.push_back(getLow()[dim] +
                     (size > 0 ? (size - 1) * steps.back() + 1 : 0));
  }
  operandGradients.push_back(SliceOp::create(
      builder, getLoc(), gradientType(getInput(), resultGradients),
      resultGradients[0], getLow(), limits, steps));
  return success();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0].reshaped(shapeOf(getResult())));
  return success();
}

LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0].transposed(getPermutation()));
  return success();
}

LogicalResult BroadcastOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0].broadcastTo(tensorType(getResult())));
  return success();
}

LogicalResult SliceOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  results.push_back(
      operands[0].sliced(getStarts(), shapeOf(getResult()), getStrides()));
  return success();
}

LogicalResult ReverseOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  SmallVector<int64_t> starts(operands[0].rank(), 0),
      steps(operands[0].rank(), 1);
  for (int64_t dim : getDims()) {
    starts[dim] = operands[0].shape()[dim] - 1;
    steps[dim] = -1;
  }
  results.push_back(operands[0].sliced(starts, operands[0].shape(), steps));
  return success();
}

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t axis = getAxis();
  // Along the other dims, only as much is written out as varies in some input.
  SmallVector<int64_t> sizes(type.getShape());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != axis && sizes[dim] > 1 &&
        llvm::all_of(operands, [&](const HostTensor &input) {
          return input.isBroadcastAlong(dim);
        }))
      sizes[dim] = 1;
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  auto join = [&](auto zero, auto read) {
    std::vector<decltype(zero)> joined(product(sizes));
    const int64_t inner =
        product(ArrayRef<int64_t>(sizes).drop_front(axis + 1));
    const int64_t outer = product(ArrayRef<int64_t>(sizes).take_front(axis));
    int64_t position = 0;
    for (const HostTensor &input : operands) {
      SmallVector<int64_t> cut(sizes);
      cut[axis] = input.shape()[axis];
      const auto values = read(input.sliced(starts, cut, steps));
      const int64_t run = cut[axis] * inner;
      for (int64_t i = 0; i < outer; ++i)
        std::copy_n(values.begin() + i * run, run,
                    joined.begin() + i * sizes[axis] * inner + position);
      position += run;
    }
    return joined;
  };
  auto cutType = type.clone(sizes);
  const HostTensor joined =
      isa<FloatType>(type.getElementType())
          ? HostTensor::floats(
                cutType,
                join(0.0, [](const HostTensor &x) { return x.toFloats(); }))
          : HostTensor::ints(cutType, join(int64_t(0), [](const HostTensor &x) {
                               return x.toInts();
                             }));
  results.push_back(joined.broadcastTo(type));
  return success();
}

LogicalResult PadOp::evaluate(ArrayRef<HostTensor> operands,
                              SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const HostTensor &input = operands[0];
  // Each element of the input has its place in the result; the rest stays zero.
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * type.getDimSize(dim + 1);
  auto place = [&](auto values) {
    decltype(values) padded(type.getNumElements());
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t rest = i, offset = 0;
      for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
        offset += (getLow()[dim] +
                   rest % input.shape()[dim] * (1 + getInterior()[dim])) *
                  strides[dim];
        rest /= input.shape()[dim];
      }
      padded[offset] = values[i];
    }
    return padded;
  };
  results.push_back(input.isFloat()
                        ? HostTensor::floats(type, place(input.toFloats()))
                        : HostTensor::ints(type, place(input.toInts())));
  return success();
}

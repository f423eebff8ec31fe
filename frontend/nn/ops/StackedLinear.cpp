// Products by several weights at once.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// Rows of all of them, each of which must be [ni, columns].
static FailureOr<int64_t> stackedRows(Operation *op, StringRef what,
                                      ValueRange matrices, int64_t columns) {
  if (matrices.empty())
    return op->emitOpError("expects one or more of ") << what << ", got none";
  int64_t rows = 0;
  for (Value matrix : matrices) {
    if (failed(expectRank(op, what, matrix, 2)) ||
        failed(expectShape(op, what, matrix, {shapeOf(matrix)[0], columns})))
      return failure();
    rows += shapeOf(matrix)[0];
  }
  return rows;
}

LogicalResult StackedLinearOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectRankAtLeast(*this, "result", getResult(), 1)))
    return failure();
  const bool transposed = getTransposeWeight();
  const int64_t from = shapeOf(getInput()).back(),
                to = shapeOf(getResult()).back();
  FailureOr<int64_t> rows =
      stackedRows(*this, "weights", getWeights(), transposed ? from : to);
  if (failed(rows))
    return failure();
  Type element = elementTypeOf(getInput());
  for (Value weight : getWeights())
    if (failed(expectElementType(*this, "weights", weight, element)))
      return failure();
  if (!transposed && *rows != from)
    return emitOpError("expects an input of ")
           << *rows << " columns, the weights' rows, got " << from;
  const size_t biases = getBiases().size();
  if (biases && (!transposed || biases != getWeights().size()))
    return emitOpError("expects no bias")
           << (transposed ? ", or one for each of " : " without ")
           << (transposed ? std::to_string(getWeights().size()) + " weights"
                          : std::string("transpose_weight"))
           << ", got " << biases;
  for (auto [bias, weight] : llvm::zip(getBiases(), getWeights()))
    if (failed(
            expectType(*this, "biases", bias, {shapeOf(weight)[0]}, element)))
      return failure();
  SmallVector<int64_t> result(shapeOf(getInput()).drop_back());
  result.push_back(transposed ? *rows : to);
  return expectType(*this, "result", getResult(), result, element);
}

LogicalResult StackedLinearWeightGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "rows", getRows(), 1)) ||
      failed(expectRankAtLeast(*this, "columns", getColumns(), 1)))
    return failure();
  const int64_t rows = shapeOf(getRows()).back(),
                columns = shapeOf(getColumns()).back();
  Type element = elementTypeOf(getRows());
  SmallVector<int64_t> shape(shapeOf(getRows()).drop_back());
  shape.push_back(columns);
  if (failed(expectType(*this, "columns", getColumns(), shape, element)))
    return failure();
  if (getBiases() && getNumResults() % 2)
    return emitOpError("expects a bias's gradient for each weight's, got ")
           << getNumResults() << " results";
  FailureOr<int64_t> found =
      stackedRows(*this, "gradients", getWeightGradients(), columns);
  if (failed(found))
    return failure();
  if (*found != rows)
    return emitOpError("expects gradients of ")
           << rows << " rows together, got " << *found;
  for (Value gradient : getGradients())
    if (elementTypeOf(gradient) != elementTypeOf(getGradients()[0]) ||
        failed(expectTypeOrWide(*this, "gradients", gradient, shapeOf(gradient),
                                element)))
      return emitOpError("expects gradients of one type, got ")
             << gradient.getType();
  for (auto [bias, weight] :
       llvm::zip(getBiasGradients(), getWeightGradients()))
    if (failed(expectShape(*this, "gradients", bias, {shapeOf(weight)[0]})))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
StackedLinearOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &operandGradients) {
  Value dy = resultGradients[0];
  const bool transposed = getTransposeWeight();
  operandGradients.assign(needed.size(), Value());
  if (needed[0])
    operandGradients[0] = StackedLinearOp::create(
        builder, getLoc(), getInput().getType(), dy, getWeights(),
        /*biases=*/ValueRange(), !transposed);
  if (!llvm::is_contained(needed.drop_front(), true))
    return success();
  // All together: what is not needed is a part of the product that nobody reads.
  SmallVector<Type> types;
  for (Value parameter : llvm::drop_begin(getOperands()))
    types.push_back(parameter.getType());
  auto gradients = StackedLinearWeightGradOp::create(
      builder, getLoc(), types, transposed ? dy : getInput(),
      transposed ? getInput() : dy, !getBiases().empty());
  for (auto [index, gradient] : llvm::enumerate(gradients.getGradients()))
    if (needed[index + 1])
      operandGradients[index + 1] = gradient;
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t StackedLinearOp::flops() {
  const int64_t results = tensorType(getResult()).getNumElements();
  return 2 * results * shapeOf(getInput()).back() +
         (getBiases().empty() ? 0 : results);
}

int64_t StackedLinearWeightGradOp::flops() {
  const int64_t elements = tensorType(getRows()).getNumElements();
  return 2 * elements * shapeOf(getColumns()).back() +
         (getBiases() ? elements : 0);
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

LogicalResult StackedLinearOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t from = shapeOf(getInput()).back(), to = type.getShape().back();
  const bool transposed = getTransposeWeight();
  const Floats input = operands[0].toFloats();
  Floats weights, biases, values(type.getNumElements(), 0);
  for (size_t index = 0; index < getWeights().size(); ++index)
    llvm::append_range(weights, operands[1 + index].toFloats());
  for (size_t index = 0; index < getBiases().size(); ++index)
    llvm::append_range(biases,
                       operands[1 + getWeights().size() + index].toFloats());
  for (size_t at = 0; at < values.size(); ++at) {
    const int64_t row = at / to, column = at % to;
    for (int64_t i = 0; i < from; ++i)
      values[at] += input[row * from + i] *
                    weights[transposed ? column * from + i : i * to + column];
    if (!biases.empty())
      values[at] += biases[column];
  }
  results.push_back(HostTensor::floats(type, std::move(values)));
  return success();
}

LogicalResult
StackedLinearWeightGradOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const int64_t n = shapeOf(getRows()).back(), k = shapeOf(getColumns()).back();
  const int64_t length = product(shapeOf(getRows()).drop_back());
  const Floats rows = operands[0].toFloats(), columns = operands[1].toFloats();
  auto sums = [&](ResultRange into, int64_t width, auto factor) {
    int64_t first = 0;
    for (OpResult result : into) {
      Floats values(tensorType(result).getNumElements(), 0);
      for (size_t at = 0; at < values.size(); ++at)
        for (int64_t i = 0; i < length; ++i)
          values[at] +=
              rows[i * n + first + at / width] * factor(i, at % width);
      first += shapeOf(result)[0];
      results.push_back(
          HostTensor::floats(tensorType(result), std::move(values)));
    }
  };
  sums(getWeightGradients(), k,
       [&](int64_t i, int64_t column) { return columns[i * k + column]; });
  sums(getBiasGradients(), 1, [](int64_t, int64_t) { return 1.0; });
  return success();
}

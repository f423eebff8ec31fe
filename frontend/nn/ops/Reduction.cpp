// Reductions over dims.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyReduction(Op op, bool anyType = false) {
  if (failed(expectDistinctAxes(op, "dims", op.getDims(),
                                tensorType(op.getInput()).getRank())))
    return failure();
  SmallVector<int64_t> expected(shapeOf(op.getInput()));
  for (int64_t dim : op.getDims())
    expected[dim] = 1;
  return expectType(op, "result", op.getResult(), expected,
                    elementTypeOf(anyType ? op.getResult() : op.getInput()));
}

LogicalResult ReduceSumOp::verify() {
  const bool fromFloat = isa<FloatType>(elementTypeOf(getInput())),
             toFloat = isa<FloatType>(elementTypeOf(getResult()));
  // A sum of floats may have another float type.
  return verifyReduction(*this, /*anyType=*/fromFloat && toFloat);
}
LogicalResult ReduceMeanOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceMaxOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceMinOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceProdOp::verify() { return verifyReduction(*this); }

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

/// A reduction over dims of size 1 is its input. (With dims of size 0 the types
/// differ.)
template <typename Op> static OpFoldResult foldReduction(Op op) {
  return op.getInput().getType() == op.getResult().getType()
             ? OpFoldResult(op.getInput())
             : OpFoldResult();
}

OpFoldResult ReduceSumOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMeanOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMaxOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMinOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceProdOp::fold(FoldAdaptor) { return foldReduction(*this); }

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
ReduceSumOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  operandGradients.push_back(f.cast(f.broadcast(resultGradients[0], getInput()),
                                    elementTypeOf(getInput())));
  return success();
}

LogicalResult
ReduceMeanOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  const double count = double(tensorType(getInput()).getNumElements()) /
                       tensorType(getResult()).getNumElements();
  operandGradients.push_back(
      f.broadcast(f.scale(resultGradients[0], 1 / count), getInput()));
  return success();
}

/// The elements that are the result share its gradient equally, as in
/// torch.amax. They are counted in the type that the op computes in: 16 bits do
/// not hold every count.
template <typename Op>
static Value shareAmongEqual(Op op, OpBuilder &builder, Value gradient) {
  Formula f(builder, op.getLoc());
  Value input = op.getInput();
  Type element = elementTypeOf(input), wide = computeTypeOf(element);
  Value isResult = f.cast(
      f.compare(CompareKind::eq, input, f.broadcast(op.getResult(), input)),
      wide);
  Value share =
      f.div(f.cast(gradient, wide), f.reduceSum(isResult, op.getDims()));
  return f.cast(f.mul(isResult, f.broadcast(share, input)), element);
}

LogicalResult
ReduceMaxOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      shareAmongEqual(*this, builder, resultGradients[0]));
  return success();
}

LogicalResult
ReduceMinOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      shareAmongEqual(*this, builder, resultGradients[0]));
  return success();
}

LogicalResult
ReduceProdOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  // The product of the others: the product of all non-zero ones over x where
  // nothing is zero; where one is, only that one has a gradient; where more
  // are, none has. The product of all may be more than 16 bits hold where that
  // of the others is not, so it is formed in the type that the op computes in.
  Formula f(builder, getLoc());
  const Type element = elementTypeOf(getInput()), wide = computeTypeOf(element);
  Value x = f.cast(getInput(), wide), zero = f.constant(x, 0),
        one = f.constant(x, 1);
  Value isZero = f.compare(CompareKind::eq, x, zero);
  Value nonZero = f.select(isZero, one, x);
  Value rest =
      f.broadcast(ReduceProdOp::create(builder, getLoc(),
                                       tensorType(getResult()).clone(wide),
                                       nonZero, getDims()),
                  x);
  Value zeros =
      f.broadcast(f.reduceSum(f.select(isZero, one, zero), getDims()), x);
  Value isOnlyZero =
      f.logicalAnd(isZero, f.compare(CompareKind::eq, zeros, one));
  Value others =
      f.select(f.compare(CompareKind::eq, zeros, zero), f.div(rest, nonZero),
               f.select(isOnlyZero, rest, zero));
  Value dy = f.broadcast(f.cast(resultGradients[0], wide), x);
  operandGradients.push_back(f.cast(f.mul(dy, others), element));
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t ReduceSumOp::flops() { return tensorType(getInput()).getNumElements(); }
int64_t ReduceMeanOp::flops() {
  return tensorType(getInput()).getNumElements();
}
int64_t ReduceMaxOp::flops() { return tensorType(getInput()).getNumElements(); }
int64_t ReduceMinOp::flops() { return tensorType(getInput()).getNumElements(); }
int64_t ReduceProdOp::flops() {
  return tensorType(getInput()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

/// Left to right over `dims`, from `initial`; kept dims along which the input
/// does not vary are computed once.
template <typename T, typename Combine>
static std::vector<T>
reduceValues(const HostTensor &input, std::vector<T> values,
             ArrayRef<int64_t> dims, T initial, Combine combine) {
  SmallVector<int64_t> strides(input.rank(), 0);
  int64_t size = 1;
  for (int64_t dim = input.rank() - 1; dim >= 0; --dim)
    if (!llvm::is_contained(dims, dim)) {
      strides[dim] = size;
      size *= input.shape()[dim];
    }
  std::vector<T> reduced(size, initial);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = i, offset = 0;
    for (int64_t dim = input.rank() - 1; dim >= 0; --dim) {
      offset += rest % input.shape()[dim] * strides[dim];
      rest /= input.shape()[dim];
    }
    reduced[offset] = combine(reduced[offset], values[i]);
  }
  return reduced;
}

/// `finish` maps a reduced value and the number of values that it stands for to
/// the result.
template <typename Op, typename Combine, typename Finish>
static void evaluateReduction(Op op, const HostTensor &whole,
                              double floatInitial, int64_t intInitial,
                              Combine combine, Finish finish,
                              SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(op.getResult());
  SmallVector<int64_t> sizes(whole.shape()), reduced(whole.shape());
  int64_t count = 1;
  for (int64_t dim = 0; dim < whole.rank(); ++dim) {
    const bool isReduced = llvm::is_contained(op.getDims(), dim);
    if (!isReduced && whole.isBroadcastAlong(dim) && sizes[dim] > 1)
      sizes[dim] = 1;
    reduced[dim] = isReduced ? 1 : sizes[dim];
    count *= isReduced ? sizes[dim] : 1;
  }
  const SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  const HostTensor input = whole.sliced(starts, sizes, steps);
  auto reduce = [&](auto values, auto initial) {
    auto result =
        reduceValues(input, std::move(values), op.getDims(), initial, combine);
    for (auto &value : result)
      value = finish(value, count);
    return result;
  };
  results.push_back(
      (input.isFloat()
           ? HostTensor::floats(type.clone(reduced),
                                reduce(input.toFloats(), floatInitial))
           : HostTensor::ints(type.clone(reduced),
                              reduce(input.toInts(), intInitial)))
          .broadcastTo(type));
}

/// Of integers; floats begin with an infinity.
static int64_t lowest(Type type) {
  return isa<FloatType>(type) ? 0 : lowestInteger(type);
}
static int64_t highest(Type type) {
  return isa<FloatType>(type) ? 0 : highestInteger(type);
}
static bool isGreater(double x, double y, bool) { return x > y; }
static bool isGreater(int64_t x, int64_t y, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(x) > static_cast<uint64_t>(y)
                    : x > y;
}

static constexpr auto sum = [](auto x, auto y) { return x + y; };
static constexpr auto asItIs = [](auto x, int64_t) { return x; };

LogicalResult ReduceSumOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  evaluateReduction(*this, operands[0], 0, 0, sum, asItIs, results);
  return success();
}

LogicalResult ReduceMeanOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  if (!operands[0].isFloat() && operands[0].elements() == 0)
    return emitOpError("expects integers to take the mean of, got none");
  evaluateReduction(
      *this, operands[0], 0, 0, sum,
      [&](auto x, int64_t count) {
        if constexpr (std::is_integral_v<decltype(x)>)
          if (isUInt64(getInput()))
            return static_cast<int64_t>(static_cast<uint64_t>(x) / count);
        return x / count;
      },
      results);
  return success();
}

LogicalResult ReduceMaxOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const bool isUnsigned = isUInt64(getInput());
  auto larger = [=](auto x, auto y) {
    return std::isnan(static_cast<double>(x)) || isGreater(x, y, isUnsigned)
               ? x
               : y;
  };
  evaluateReduction(*this, operands[0],
                    -std::numeric_limits<double>::infinity(),
                    lowest(elementTypeOf(getInput())), larger, asItIs, results);
  return success();
}

LogicalResult ReduceMinOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const bool isUnsigned = isUInt64(getInput());
  auto smaller = [=](auto x, auto y) {
    return std::isnan(static_cast<double>(x)) || isGreater(y, x, isUnsigned)
               ? x
               : y;
  };
  evaluateReduction(*this, operands[0], std::numeric_limits<double>::infinity(),
                    highest(elementTypeOf(getInput())), smaller, asItIs,
                    results);
  return success();
}

LogicalResult ReduceProdOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  auto times = [](auto x, auto y) { return x * y; };
  evaluateReduction(*this, operands[0], 1, 1, times, asItIs, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel body
//===----------------------------------------------------------------------===//

/// Reduces with an op for floats and one for integers, from the largest,
/// smallest or neutral element of the type.
template <typename OnFloats, typename OnInts, typename Op>
static LogicalResult buildReduction(Op op, OpBuilder &builder, Value input,
                                    double floatInitial, int64_t intInitial,
                                    SmallVectorImpl<Value> &results) {
  KernelBuilder kernel(builder, op.getLoc());
  Type element = computeTypeOf(elementTypeOf(input));
  const bool isFloat = isa<FloatType>(element);
  TypedAttr initial =
      isFloat ? TypedAttr(builder.getFloatAttr(element, floatInitial))
              : TypedAttr(builder.getIntegerAttr(
                    element, wrapToType(element, intInitial)));
  Value start = arith::ConstantOp::create(builder, op.getLoc(), initial);
  Value reduced =
      kernel.reduce(input, op.getDims(), start,
                    [&](OpBuilder &nested, Value sum, ValueRange x) -> Value {
                      if (isFloat)
                        return OnFloats::create(nested, op.getLoc(), sum, x[0]);
                      return OnInts::create(nested, op.getLoc(), sum, x[0]);
                    });
  results.push_back(kernel.convert(reduced, elementTypeOf(op.getResult())));
  return success();
}

LogicalResult ReduceSumOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  return buildReduction<arith::AddFOp, arith::AddIOp>(
      *this, builder, operands[0], 0, 0, results);
}

LogicalResult ReduceProdOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  return buildReduction<arith::MulFOp, arith::MulIOp>(
      *this, builder, operands[0], 1, 1, results);
}

LogicalResult ReduceMaxOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  if (isUInt64(getInput()))
    return buildReduction<arith::MaximumFOp, arith::MaxUIOp>(
        *this, builder, operands[0], 0, 0, results);
  return buildReduction<arith::MaximumFOp, arith::MaxSIOp>(
      *this, builder, operands[0], -std::numeric_limits<double>::infinity(),
      lowest(elementTypeOf(getInput())), results);
}

LogicalResult ReduceMinOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  if (isUInt64(getInput()))
    return buildReduction<arith::MinimumFOp, arith::MinUIOp>(
        *this, builder, operands[0], 0, -1, results);
  return buildReduction<arith::MinimumFOp, arith::MinSIOp>(
      *this, builder, operands[0], std::numeric_limits<double>::infinity(),
      highest(elementTypeOf(getInput())), results);
}

LogicalResult ReduceMeanOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  KernelBuilder kernel(builder, getLoc());
  const int64_t count = product(shapeOf(getInput())) /
                        std::max<int64_t>(product(shapeOf(getResult())), 1);
  Value sum = kernel.sum(operands[0], getDims(),
                         [](OpBuilder &, ValueRange x) { return x[0]; });
  results.push_back(kernel.map(
      tensorType(getResult()), sum,
      [&](OpBuilder &nested, ValueRange x) -> Value {
        Value divisor =
            KernelBuilder(nested, getLoc()).constant(x[0].getType(), count);
        if (isa<FloatType>(x[0].getType()))
          return arith::DivFOp::create(nested, getLoc(), x[0], divisor);
        if (isUInt64(getInput()))
          return arith::DivUIOp::create(nested, getLoc(), x[0], divisor);
        return arith::DivSIOp::create(nested, getLoc(), x[0], divisor);
      }));
  return success();
}

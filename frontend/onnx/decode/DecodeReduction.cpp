// Reductions. nn's keep the reduced dims with size 1; ONNX may drop them.
#include "frontend/onnx/decode/Decoder.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

using Reduce = Operand (*)(Emitter &, const Operand &, ArrayRef<int64_t>);

template <typename Op>
Operand plain(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  return emit.reduce<Op>(input, dims);
}

/// Largest or smallest, of bools too (opset 20).
template <typename Op>
Operand extremum(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  if (!input.elementType().isInteger(1))
    return emit.reduce<Op>(input, dims);
  Operand wide =
      emit.cast(input, emit.attributes().getIntegerType(8, /*isSigned=*/false));
  return emit.cast(emit.reduce<Op>(wide, dims), input.elementType());
}

Operand sumOfSquares(Emitter &emit, const Operand &input,
                     ArrayRef<int64_t> dims) {
  return emit.reduce<nn::ReduceSumOp>(emit.binary<nn::MulOp>(input, input),
                                      dims);
}

Operand l1(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  return emit.reduce<nn::ReduceSumOp>(emit.unary<nn::AbsOp>(input), dims);
}

/// The norm of zeros is 0 and has the gradient 0, as torch's has; the root
/// alone has an infinite one.
Operand l2(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  Operand squares = sumOfSquares(emit, input, dims);
  Operand zero = emit.scalar(input.elementType(), 0),
          one = emit.scalar(input.elementType(), 1);
  Operand isZero = emit.compare(nn::CompareKind::eq, squares, zero);
  return emit.select(isZero, zero,
                     emit.unary<nn::SqrtOp>(emit.select(isZero, one, squares)));
}

Operand logSum(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  return emit.unary<nn::LogOp>(emit.reduce<nn::ReduceSumOp>(input, dims));
}

/// Shifted by the largest element, unless that is infinite: log(0) is -inf, and
/// -inf - -inf would be NaN.
Operand logSumExp(Emitter &emit, const Operand &input, ArrayRef<int64_t> dims) {
  Operand largest = emit.reduce<nn::ReduceMaxOp>(input, dims);
  Type element = input.elementType();
  Operand isInfinite = emit.compare(
      nn::CompareKind::eq, emit.unary<nn::AbsOp>(largest),
      emit.scalar(element, std::numeric_limits<double>::infinity()));
  Operand shift = emit.select(isInfinite, emit.scalar(element, 0), largest);
  Operand shifted = emit.unary<nn::ExpOp>(emit.binary<nn::SubOp>(input, shift));
  return emit.binary<nn::AddOp>(logSum(emit, shifted, dims), shift);
}

/// Axes are an attribute first, and an input since opset 13 (ReduceSum) or 18
/// (the others).
template <Reduce reduce, bool floatOnly>
LogicalResult decode(NodeContext &context) {
  const Operand &input = context.input(0);
  if (floatOnly && failed(context.expectFloat(0)))
    return failure();
  const bool isBool = input.elementType().isInteger(1);
  if (isBool && reduce != extremum<nn::ReduceMaxOp> &&
      reduce != extremum<nn::ReduceMinOp>)
    return context.error("is not supported for the data type bool");
  Shape given;
  if (context.has(1)) {
    FailureOr<Shape> values = context.constantInts(1, "axes");
    if (failed(values))
      return failure();
    given = *values;
  } else if (auto values = context.intsAttribute("axes")) {
    given = *values;
  }
  if (given.empty()) {
    if (context.intAttribute("noop_with_empty_axes", 0)) {
      context.set(0, input);
      return success();
    }
    given = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  }
  FailureOr<Shape> dims = context.axes(given, input.rank());
  if (failed(dims))
    return failure();
  llvm::sort(*dims);
  // Squares and exponentials leave the range of 16 bits before the norm does.
  Emitter::OneRounding one(context.emit);
  Operand result = one.result(reduce(context.emit, input, *dims));
  if (context.intAttribute("keepdims", 1) == 0) {
    Shape shape;
    for (int64_t dim = 0; dim < input.rank(); ++dim)
      if (!llvm::is_contained(*dims, dim))
        shape.push_back(input.shape()[dim]);
    result = context.emit.reshape(result, shape);
  }
  context.set(0, result);
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::reductionDecoders() {
  static constexpr Decoder decoders[] = {
      {"ReduceL1", 1, 1, 2, decode<l1, false>},
      {"ReduceL2", 1, 1, 2, decode<l2, true>},
      {"ReduceLogSum", 1, 1, 2, decode<logSum, true>},
      {"ReduceLogSumExp", 1, 1, 2, decode<logSumExp, true>},
      {"ReduceMax", 1, 1, 2, decode<extremum<nn::ReduceMaxOp>, false>},
      {"ReduceMean", 1, 1, 2, decode<plain<nn::ReduceMeanOp>, true>},
      {"ReduceMin", 1, 1, 2, decode<extremum<nn::ReduceMinOp>, false>},
      {"ReduceProd", 1, 1, 2, decode<plain<nn::ReduceProdOp>, false>},
      {"ReduceSum", 1, 1, 2, decode<plain<nn::ReduceSumOp>, false>},
      {"ReduceSumSquare", 1, 1, 2, decode<sumOfSquares, false>},
  };
  return decoders;
}

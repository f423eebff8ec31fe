// Running sums and products.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// The axis of a running sum or product, whose elements must be numbers that
/// are computed in their own type.
FailureOr<int64_t> runningAxis(NodeContext &context) {
  const Operand &input = context.input(0);
  if (Type element = input.elementType(); !input.isFloat() &&
                                          !element.isSignlessInteger(32) &&
                                          !element.isSignlessInteger(64))
    return context.error("is not supported for the data type " +
                         typeName(element));
  FailureOr<double> given = context.constantFloat(1, "its axis");
  if (failed(given))
    return failure();
  return context.axis(int64_t(*given), input.rank());
}

LogicalResult cumSum(NodeContext &context) {
  FailureOr<int64_t> axis = runningAxis(context);
  if (failed(axis))
    return failure();
  const Operand &input = context.input(0);
  SmallVector<NamedAttribute> attributes = {context.emit.named("axis", *axis)};
  for (StringRef flag : {"exclusive", "reverse"})
    if (context.intAttribute(flag, 0))
      attributes.push_back(context.emit.flag(flag));
  context.set(
      0, context.emit.emit<nn::CumsumOp>(input.type(), {input}, attributes));
  return success();
}

/// x with its elements `by` places further along `axis`, ones where none came
/// from.
Operand shifted(Emitter &emit, const Operand &x, int64_t axis, int64_t by,
                bool isBack) {
  int64_t size = x.shape()[axis];
  by = std::min(by, size);
  Shape shape(x.shape());
  shape[axis] = by;
  Operand ones = emit.splat(shape, x.elementType(), 1);
  if (by == size)
    return ones;
  Operand rest = emit.sliceDim(x, axis, isBack ? by : 0, size - by);
  return isBack ? emit.concat({rest, ones}, axis)
                : emit.concat({ones, rest}, axis);
}

/// Products of 2, 4, 8, ... neighbours (Hillis and Steele, Data Parallel
/// Algorithms, 1986).
LogicalResult cumProd(NodeContext &context) {
  FailureOr<int64_t> axis = runningAxis(context);
  if (failed(axis))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand result = context.input(0);
  bool isBack = context.intAttribute("reverse", 0) != 0;
  if (context.intAttribute("exclusive", 0))
    result = shifted(emit, result, *axis, 1, isBack);
  for (int64_t by = 1; by < result.shape()[*axis]; by *= 2)
    result = emit.binary<nn::MulOp>(result,
                                    shifted(emit, result, *axis, by, isBack));
  context.set(0, one.result(result));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::cumulativeDecoders() {
  static constexpr Decoder decoders[] = {
      {"CumProd", 26, 2, 2, cumProd},
      {"CumSum", 11, 2, 2, cumSum},
  };
  return decoders;
}

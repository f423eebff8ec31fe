// Losses.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

static LogicalResult verifyLabels(Operation *op, StringRef what, Value rows,
                                  Value labels, int64_t shift) {
  if (failed(expectRankAtLeast(op, what, rows, 1)) ||
      failed(expectShape(op, "labels", labels, shapeOf(rows).drop_back())))
    return failure();
  const int64_t sequence = shapeOf(labels).empty() ? 1 : shapeOf(labels).back();
  if (shift < 0 || (shift > 0 && shift >= sequence))
    return op->emitOpError("expects shift to be in [0, ")
           << sequence << "), got " << shift;
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  return verifyLabels(*this, "logits", getLogits(), getLabels(), getShift());
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(
          verifyLabels(*this, "logits", getLogits(), getLabels(), getShift())))
    return failure();
  return expectType(*this, "result", getResult(), shapeOf(getLogits()),
                    elementTypeOf(getLogits()));
}

template <typename Op> static LogicalResult verifyLinearCrossEntropy(Op op) {
  if (failed(verifyLabels(op, "input", op.getInput(), op.getLabels(),
                          op.getShift())) ||
      failed(expectRank(op, "weight", op.getWeight(), 2)))
    return failure();
  const int64_t in = shapeOf(op.getInput()).back();
  const int64_t classes =
      shapeOf(op.getWeight())[op.getTransposeWeight() ? 0 : 1];
  Type element = elementTypeOf(op.getInput());
  SmallVector<int64_t> weight{in, classes};
  if (op.getTransposeWeight())
    std::swap(weight[0], weight[1]);
  if (failed(expectType(op, "weight", op.getWeight(), weight, element)))
    return failure();
  return op.getBias() ? expectType(op, "bias", op.getBias(), {classes}, element)
                      : success();
}

LogicalResult LinearCrossEntropyOp::verify() {
  return verifyLinearCrossEntropy(*this);
}

LogicalResult LinearCrossEntropyGradOp::verify() {
  if (failed(verifyLinearCrossEntropy(*this)))
    return failure();
  auto expectLike = [&](StringRef what, Value gradient,
                        Value value) -> LogicalResult {
    if (!gradient)
      return success();
    if (!value)
      return emitOpError("expects no ") << what << " where there is no bias";
    return expectType(*this, what, gradient, shapeOf(value),
                      elementTypeOf(value));
  };
  return success(
      succeeded(expectLike("input_gradient", getInputGradient(), getInput())) &&
      succeeded(
          expectLike("weight_gradient", getWeightGradient(), getWeight())) &&
      succeeded(expectLike("bias_gradient", getBiasGradient(), getBias())));
}

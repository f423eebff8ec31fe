// Softmax and the norms, over the last dim.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// The shape of what is kept per row: [..., 1].
static SmallVector<int64_t> rowShape(Value input) {
  SmallVector<int64_t> shape(shapeOf(input));
  shape.back() = 1;
  return shape;
}

/// gamma or beta: one element per entry of a row, of the input's type.
static LogicalResult expectColumn(Operation *op, StringRef what, Value value,
                                  Value input) {
  return expectType(op, what, value, shapeOf(input).take_back(),
                    elementTypeOf(input));
}

LogicalResult SoftmaxOp::verify() {
  return expectRankAtLeast(*this, "input", getInput(), 1);
}
LogicalResult SoftmaxGradOp::verify() {
  return expectRankAtLeast(*this, "output", getOutput(), 1);
}
LogicalResult LogSoftmaxOp::verify() {
  return expectRankAtLeast(*this, "input", getInput(), 1);
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectColumn(*this, "gamma", getGamma(), getInput())) ||
      (getBeta() &&
       failed(expectColumn(*this, "beta", getBeta(), getInput()))) ||
      failed(expectType(*this, "result", getResult(), shapeOf(getInput()),
                        elementTypeOf(getInput()))) ||
      failed(expectShape(*this, "mean", getMean(), rowShape(getInput()))))
    return failure();
  return expectShape(*this, "rstd", getRstd(), rowShape(getInput()));
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectType(*this, "gradient", getGradient(), shapeOf(getInput()),
                        elementTypeOf(getInput()))) ||
      failed(expectColumn(*this, "gamma", getGamma(), getInput())) ||
      failed(expectShape(*this, "mean", getMean(), rowShape(getInput()))) ||
      failed(expectShape(*this, "rstd", getRstd(), rowShape(getInput()))))
    return failure();
  return expectType(*this, "result", getResult(), shapeOf(getInput()),
                    elementTypeOf(getInput()));
}

LogicalResult LayerNormParamGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectType(*this, "gradient", getGradient(), shapeOf(getInput()),
                        elementTypeOf(getInput()))) ||
      failed(expectShape(*this, "mean", getMean(), rowShape(getInput()))) ||
      failed(expectShape(*this, "rstd", getRstd(), rowShape(getInput()))) ||
      failed(expectColumn(*this, "gamma_gradient", getGammaGradient(),
                          getInput())))
    return failure();
  return expectColumn(*this, "beta_gradient", getBetaGradient(), getInput());
}

LogicalResult RmsNormOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectColumn(*this, "gamma", getGamma(), getInput())) ||
      failed(expectType(*this, "result", getResult(), shapeOf(getInput()),
                        elementTypeOf(getInput()))))
    return failure();
  return expectShape(*this, "rstd", getRstd(), rowShape(getInput()));
}

LogicalResult RmsNormGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectType(*this, "gradient", getGradient(), shapeOf(getInput()),
                        elementTypeOf(getInput()))) ||
      failed(expectColumn(*this, "gamma", getGamma(), getInput())) ||
      failed(expectShape(*this, "rstd", getRstd(), rowShape(getInput()))))
    return failure();
  return expectType(*this, "result", getResult(), shapeOf(getInput()),
                    elementTypeOf(getInput()));
}

LogicalResult RmsNormParamGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectType(*this, "gradient", getGradient(), shapeOf(getInput()),
                        elementTypeOf(getInput()))) ||
      failed(expectShape(*this, "rstd", getRstd(), rowShape(getInput()))))
    return failure();
  return expectColumn(*this, "gamma_gradient", getGammaGradient(), getInput());
}

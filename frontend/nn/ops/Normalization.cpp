// Softmax and the norms, over the last dim. Their kernels:
// NormalizationKernels.cpp.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// gamma or beta, or a gradient of one: one element per entry of a row.
static LogicalResult expectColumn(Operation *op, StringRef what, Value value,
                                  Value input) {
  return expectShape(op, what, value, shapeOf(input).take_back());
}

/// mean or rstd: one number per row, in the type that the op computes in.
static LogicalResult expectPerRow(Operation *op, StringRef what, Value value,
                                  Value input) {
  return expectType(op, what, value, rowShape(input),
                    computeTypeOf(elementTypeOf(input)));
}

static LogicalResult expectLike(Operation *op, StringRef what, Value value,
                                Value input) {
  return expectShape(op, what, value, shapeOf(input));
}

namespace {
/// What an op over rows has besides its input, and what that must be like.
struct RowPart {
  StringRef name;
  Value value; // null: left out
  LogicalResult (*expect)(Operation *op, StringRef what, Value value,
                          Value input);
};
} // namespace

static LogicalResult verifyRows(Operation *op, Value input,
                                std::initializer_list<RowPart> parts) {
  if (failed(expectRankAtLeast(op, "input", input, 1)))
    return failure();
  for (const RowPart &part : parts)
    if (part.value && failed(part.expect(op, part.name, part.value, input)))
      return failure();
  return success();
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
  return verifyRows(*this, getInput(),
                    {{"gamma", getGamma(), expectColumn},
                     {"beta", getBeta(), expectColumn},
                     {"result", getResult(), expectLike},
                     {"mean", getMean(), expectPerRow},
                     {"rstd", getRstd(), expectPerRow}});
}
LogicalResult LayerNormGradOp::verify() {
  return verifyRows(*this, getInput(),
                    {{"gradient", getGradient(), expectLike},
                     {"gamma", getGamma(), expectColumn},
                     {"mean", getMean(), expectPerRow},
                     {"rstd", getRstd(), expectPerRow},
                     {"result", getResult(), expectLike}});
}
LogicalResult LayerNormParamGradOp::verify() {
  return verifyRows(*this, getInput(),
                    {{"gradient", getGradient(), expectLike},
                     {"mean", getMean(), expectPerRow},
                     {"rstd", getRstd(), expectPerRow},
                     {"gamma_gradient", getGammaGradient(), expectColumn},
                     {"beta_gradient", getBetaGradient(), expectColumn}});
}
LogicalResult RmsNormOp::verify() {
  return verifyRows(*this, getInput(),
                    {{"gamma", getGamma(), expectColumn},
                     {"result", getResult(), expectLike},
                     {"rstd", getRstd(), expectPerRow}});
}
LogicalResult RmsNormGradOp::verify() {
  return verifyRows(*this, getInput(),
                    {{"gradient", getGradient(), expectLike},
                     {"gamma", getGamma(), expectColumn},
                     {"rstd", getRstd(), expectPerRow},
                     {"result", getResult(), expectLike}});
}
LogicalResult RmsNormParamGradOp::verify() {
  return verifyRows(*this, getInput(),
                    {{"gradient", getGradient(), expectLike},
                     {"rstd", getRstd(), expectPerRow},
                     {"gamma_gradient", getGammaGradient(), expectColumn}});
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// The statistics of a norm are kept for its gradient only.
static LogicalResult expectNoGradient(Operation *op, StringRef what,
                                      Value gradient) {
  return gradient ? op->emitOpError("has no gradient of its ") << what
                  : success();
}

LogicalResult
SoftmaxOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      SoftmaxGradOp::create(builder, getLoc(), getInput().getType(),
                            getResult(), resultGradients[0]));
  return success();
}

LogicalResult
LogSoftmaxOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  // In one type, and rounded once: the two terms cancel where the probability
  // is near 1.
  Type element = computeTypeOf(elementTypeOf(getInput()));
  Value dy = f.cast(resultGradients[0], element);
  Value sum = f.reduceSum(dy, tensorType(dy).getRank() - 1);
  Value probabilities = f.exp(f.cast(getResult(), element));
  operandGradients.push_back(
      f.cast(f.sub(dy, f.mul(probabilities, f.broadcast(sum, dy))),
             elementTypeOf(getInput())));
  return success();
}

LogicalResult
LayerNormOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  Value dy = resultGradients[0];
  if (failed(expectNoGradient(*this, "mean", resultGradients[1])) ||
      failed(expectNoGradient(*this, "rstd", resultGradients[2])))
    return failure();
  operandGradients.assign(needed.size(), Value());
  if (!dy)
    return success();
  if (needed[0])
    operandGradients[0] =
        LayerNormGradOp::create(builder, getLoc(), getInput().getType(), dy,
                                getInput(), getGamma(), getMean(), getRstd());
  if (!llvm::is_contained(needed.drop_front(), true))
    return success();
  auto parameters = LayerNormParamGradOp::create(
      builder, getLoc(), getGamma().getType(), getGamma().getType(), dy,
      getInput(), getMean(), getRstd());
  operandGradients[1] = parameters.getGammaGradient();
  if (getBeta())
    operandGradients[2] = parameters.getBetaGradient();
  return success();
}

LogicalResult
RmsNormOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  Value dy = resultGradients[0];
  if (failed(expectNoGradient(*this, "rstd", resultGradients[1])))
    return failure();
  operandGradients.assign(2, Value());
  if (dy && needed[0])
    operandGradients[0] =
        RmsNormGradOp::create(builder, getLoc(), getInput().getType(), dy,
                              getInput(), getGamma(), getRstd());
  if (dy && needed[1])
    operandGradients[1] = RmsNormParamGradOp::create(
        builder, getLoc(), getGamma().getType(), dy, getInput(), getRstd());
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t SoftmaxOp::flops() {
  return 5 * tensorType(getInput()).getNumElements();
}
int64_t SoftmaxGradOp::flops() {
  return 4 * tensorType(getOutput()).getNumElements();
}
int64_t LogSoftmaxOp::flops() {
  return 5 * tensorType(getInput()).getNumElements();
}
int64_t LayerNormOp::flops() {
  return 8 * tensorType(getInput()).getNumElements();
}
int64_t LayerNormGradOp::flops() {
  return 11 * tensorType(getInput()).getNumElements();
}
int64_t LayerNormParamGradOp::flops() {
  return 5 * tensorType(getInput()).getNumElements();
}
int64_t RmsNormOp::flops() {
  return 4 * tensorType(getInput()).getNumElements();
}
int64_t RmsNormGradOp::flops() {
  return 8 * tensorType(getInput()).getNumElements();
}
int64_t RmsNormParamGradOp::flops() {
  return 3 * tensorType(getInput()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

static double sumOver(int64_t width, llvm::function_ref<double(int64_t)> term) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i)
    sum += term(i);
  return sum;
}

/// Calls `row(first, r)` for each row r of a tensor of `type`; first is the
/// position of its first element.
static void
forEachRow(RankedTensorType type,
           llvm::function_ref<void(int64_t first, int64_t row)> row) {
  const int64_t width = type.getShape().back();
  for (int64_t r = 0; width > 0 && r < type.getNumElements() / width; ++r)
    row(r * width, r);
}

/// log(sum(exp(x))) of a row; -inf where all is -inf, and NaN where an element
/// is infinite: no softmax is defined there.
static double logSumExp(const double *x, int64_t width) {
  const double largest = *std::max_element(x, x + width);
  if (std::isinf(largest))
    return largest < 0 ? largest : std::numeric_limits<double>::quiet_NaN();
  return largest + std::log(sumOver(width, [&](int64_t i) {
           return std::exp(x[i] - largest);
         }));
}

LogicalResult LogSoftmaxOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  Floats x = operands[0].toFloats();
  forEachRow(type, [&](int64_t first, int64_t) {
    const int64_t width = type.getShape().back();
    const double total = logSumExp(&x[first], width);
    for (int64_t i = first; i < first + width; ++i)
      x[i] -= total;
  });
  results.push_back(HostTensor::floats(type, std::move(x)));
  return success();
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  Floats x = operands[0].toFloats();
  forEachRow(type, [&](int64_t first, int64_t) {
    const int64_t width = type.getShape().back();
    const double total = logSumExp(&x[first], width);
    for (int64_t i = first; i < first + width; ++i)
      x[i] = std::exp(x[i] - total);
  });
  results.push_back(HostTensor::floats(type, std::move(x)));
  return success();
}

LogicalResult SoftmaxGradOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const Floats y = operands[0].toFloats(), dy = operands[1].toFloats();
  Floats dx(y.size());
  forEachRow(type, [&](int64_t first, int64_t) {
    const int64_t width = type.getShape().back();
    const double dot =
        sumOver(width, [&](int64_t i) { return y[first + i] * dy[first + i]; });
    for (int64_t i = first; i < first + width; ++i)
      dx[i] = y[i] * (dy[i] - dot);
  });
  results.push_back(HostTensor::floats(type, std::move(dx)));
  return success();
}

LogicalResult LayerNormOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t width = type.getShape().back();
  const Floats x = operands[0].toFloats(), gamma = operands[1].toFloats();
  const Floats beta =
      operands.size() > 2 ? operands[2].toFloats() : Floats(width, 0);
  const double epsilon = getEpsilon().convertToDouble();
  Floats y(x.size()), means(tensorType(getMean()).getNumElements()),
      rstds(means.size());
  forEachRow(type, [&](int64_t first, int64_t row) {
    const double mean =
        sumOver(width, [&](int64_t i) { return x[first + i]; }) / width;
    const double variance =
        sumOver(width,
                [&](int64_t i) {
                  return (x[first + i] - mean) * (x[first + i] - mean);
                }) /
        width;
    const double rstd = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < width; ++i)
      y[first + i] = (x[first + i] - mean) * rstd * gamma[i] + beta[i];
    means[row] = mean;
    rstds[row] = rstd;
  });
  results.push_back(HostTensor::floats(type, std::move(y)));
  results.push_back(
      HostTensor::floats(tensorType(getMean()), std::move(means)));
  results.push_back(
      HostTensor::floats(tensorType(getRstd()), std::move(rstds)));
  return success();
}

LogicalResult LayerNormGradOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t width = type.getShape().back();
  const Floats dy = operands[0].toFloats(), x = operands[1].toFloats(),
               gamma = operands[2].toFloats();
  const Floats means = operands[3].toFloats(), rstds = operands[4].toFloats();
  Floats dx(x.size());
  forEachRow(type, [&](int64_t first, int64_t row) {
    auto normalized = [&](int64_t i) {
      return (x[first + i] - means[row]) * rstds[row];
    };
    auto scaled = [&](int64_t i) { return dy[first + i] * gamma[i]; };
    const double mean = sumOver(width, scaled) / width;
    const double meanProduct =
        sumOver(width, [&](int64_t i) { return scaled(i) * normalized(i); }) /
        width;
    for (int64_t i = 0; i < width; ++i)
      dx[first + i] =
          rstds[row] * (scaled(i) - mean - normalized(i) * meanProduct);
  });
  results.push_back(HostTensor::floats(type, std::move(dx)));
  return success();
}

LogicalResult
LayerNormParamGradOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const int64_t width = shapeOf(getInput()).back();
  const Floats dy = operands[0].toFloats(), x = operands[1].toFloats();
  const Floats means = operands[2].toFloats(), rstds = operands[3].toFloats();
  Floats gamma(width, 0), beta(width, 0);
  forEachRow(tensorType(getInput()), [&](int64_t first, int64_t row) {
    for (int64_t i = 0; i < width; ++i) {
      gamma[i] += dy[first + i] * (x[first + i] - means[row]) * rstds[row];
      beta[i] += dy[first + i];
    }
  });
  results.push_back(
      HostTensor::floats(tensorType(getGammaGradient()), std::move(gamma)));
  results.push_back(
      HostTensor::floats(tensorType(getBetaGradient()), std::move(beta)));
  return success();
}

LogicalResult RmsNormOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t width = type.getShape().back();
  const Floats x = operands[0].toFloats(), gamma = operands[1].toFloats();
  const double epsilon = getEpsilon().convertToDouble();
  Floats y(x.size()), rstds(tensorType(getRstd()).getNumElements());
  forEachRow(type, [&](int64_t first, int64_t row) {
    const double meanSquare =
        sumOver(width, [&](int64_t i) { return x[first + i] * x[first + i]; }) /
        width;
    rstds[row] = 1 / std::sqrt(meanSquare + epsilon);
    for (int64_t i = 0; i < width; ++i)
      y[first + i] = x[first + i] * rstds[row] * gamma[i];
  });
  results.push_back(HostTensor::floats(type, std::move(y)));
  results.push_back(
      HostTensor::floats(tensorType(getRstd()), std::move(rstds)));
  return success();
}

LogicalResult RmsNormGradOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t width = type.getShape().back();
  const Floats dy = operands[0].toFloats(), x = operands[1].toFloats(),
               gamma = operands[2].toFloats();
  const Floats rstds = operands[3].toFloats();
  Floats dx(x.size());
  forEachRow(type, [&](int64_t first, int64_t row) {
    auto normalized = [&](int64_t i) { return x[first + i] * rstds[row]; };
    auto scaled = [&](int64_t i) { return dy[first + i] * gamma[i]; };
    const double meanProduct =
        sumOver(width, [&](int64_t i) { return scaled(i) * normalized(i); }) /
        width;
    for (int64_t i = 0; i < width; ++i)
      dx[first + i] = rstds[row] * (scaled(i) - normalized(i) * meanProduct);
  });
  results.push_back(HostTensor::floats(type, std::move(dx)));
  return success();
}

LogicalResult
RmsNormParamGradOp::evaluate(ArrayRef<HostTensor> operands,
                             SmallVectorImpl<HostTensor> &results) {
  const int64_t width = shapeOf(getInput()).back();
  const Floats dy = operands[0].toFloats(), x = operands[1].toFloats(),
               rstds = operands[2].toFloats();
  Floats gamma(width, 0);
  forEachRow(tensorType(getInput()), [&](int64_t first, int64_t row) {
    for (int64_t i = 0; i < width; ++i)
      gamma[i] += dy[first + i] * x[first + i] * rstds[row];
  });
  results.push_back(
      HostTensor::floats(tensorType(getGammaGradient()), std::move(gamma)));
  return success();
}

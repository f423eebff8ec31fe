// Norms by the statistics of a batch.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include <cmath>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// Checks values that have one element for each channel of the input.
static LogicalResult
expectPerChannel(Operation *op, Value input,
                 std::initializer_list<std::pair<StringRef, Value>> values) {
  for (auto [what, value] : values)
    if (failed(expectShape(op, what, value, shapeOf(input).take_back())))
      return failure();
  return success();
}

/// Checks statistics of the input: in the type that an op computes in.
static LogicalResult expectStatistics(Operation *op, Value input, Value mean,
                                      Value variance) {
  Type element = computeTypeOf(elementTypeOf(input));
  return success(
      succeeded(expectElementType(op, "mean", mean, element)) &&
      succeeded(expectElementType(op, "variance", variance, element)));
}

LogicalResult BatchNormOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectShape(*this, "result", getResult(), shapeOf(getInput()))) ||
      failed(expectPerChannel(*this, getInput(),
                              {{"gamma", getGamma()},
                               {"beta", getBeta()},
                               {"running_mean", getRunningMean()},
                               {"running_var", getRunningVar()},
                               {"mean", getMean()},
                               {"variance", getVariance()}})))
    return failure();
  return expectStatistics(*this, getInput(), getMean(), getVariance());
}

LogicalResult BatchNormGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(
          expectShape(*this, "gradient", getGradient(), shapeOf(getInput()))) ||
      failed(expectShape(*this, "result", getResult(), shapeOf(getInput()))) ||
      failed(expectPerChannel(*this, getInput(),
                              {{"gamma", getGamma()},
                               {"mean", getMean()},
                               {"variance", getVariance()},
                               {"gamma_gradient", getGammaGradient()},
                               {"beta_gradient", getBetaGradient()}})))
    return failure();
  return expectStatistics(*this, getInput(), getMean(), getVariance());
}

LogicalResult RunningGradientOp::verify() {
  if (int64_t rows = getRowsAttr().getInt(); rows < 0)
    return emitOpError("expects rows, or 0, got ") << rows;
  if (failed(expectRank(*this, "running", getRunning(), 1)) ||
      failed(expectShape(*this, "statistic", getStatistic(),
                         shapeOf(getRunning()))))
    return failure();
  return expectShape(*this, "result", getResult(), shapeOf(getRunning()));
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
BatchNormOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  Value dy = resultGradients[0];
  if (resultGradients[1] || resultGradients[2])
    return emitOpError("has no gradient of its statistics");
  operandGradients.assign(needed.size(), Value());
  if (!dy)
    return success();
  if (llvm::is_contained(needed.take_front(3), true)) {
    auto grad = BatchNormGradOp::create(
        builder, getLoc(), getInput().getType(), getGamma().getType(),
        getBeta().getType(), dy, getInput(), getGamma(), getMean(),
        getVariance(), getEpsilonAttr());
    for (int i = 0; i < 3; ++i)
      if (needed[i])
        operandGradients[i] = grad->getResult(i);
  }
  auto follow = [&](Value running, Value statistic, int64_t rows) -> Value {
    return RunningGradientOp::create(
        builder, getLoc(), running.getType(), running, statistic,
        getMomentumAttr(), builder.getI64IntegerAttr(rows), getSiteAttr());
  };
  const int64_t rows = product(shapeOf(getInput()).drop_back());
  if (needed[3])
    operandGradients[3] = follow(getRunningMean(), getMean(), 0);
  if (needed[4])
    operandGradients[4] =
        follow(getRunningVar(), getVariance(), getUnbiased() ? rows : 0);
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t BatchNormOp::flops() {
  return 8 * tensorType(getInput()).getNumElements();
}
int64_t BatchNormGradOp::flops() {
  return 14 * tensorType(getInput()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

LogicalResult BatchNormOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t channels = type.getShape().back();
  const Floats x = operands[0].toFloats(), gamma = operands[1].toFloats(),
               beta = operands[2].toFloats();
  const int64_t rows = int64_t(x.size()) / std::max<int64_t>(channels, 1);
  Floats y(x.size()), means(channels), variances(channels);
  for (int64_t c = 0; c < channels; ++c) {
    auto meanOf = [&](auto term) {
      double sum = 0;
      for (int64_t r = 0; r < rows; ++r)
        sum += term(x[r * channels + c]);
      return sum / double(rows);
    };
    const double mean = means[c] =
        meanOf([](double element) { return element; });
    variances[c] = meanOf(
        [&](double element) { return (element - mean) * (element - mean); });
    const double rstd =
        1 / std::sqrt(variances[c] + getEpsilon().convertToDouble());
    for (int64_t i = c; i < rows * channels; i += channels)
      y[i] = (x[i] - mean) * rstd * gamma[c] + beta[c];
  }
  results.push_back(HostTensor::floats(type, std::move(y)));
  results.push_back(
      HostTensor::floats(tensorType(getMean()), std::move(means)));
  results.push_back(
      HostTensor::floats(tensorType(getVariance()), std::move(variances)));
  return success();
}

LogicalResult BatchNormGradOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t channels = type.getShape().back();
  const Floats dy = operands[0].toFloats(), x = operands[1].toFloats(),
               gamma = operands[2].toFloats(), mean = operands[3].toFloats(),
               variance = operands[4].toFloats();
  const int64_t elements = int64_t(x.size());
  const double rows = double(elements / std::max<int64_t>(channels, 1));
  Floats dx(x.size()), dgamma(channels), dbeta(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double rstd =
        1 / std::sqrt(variance[c] + getEpsilon().convertToDouble());
    for (int64_t i = c; i < elements; i += channels) {
      dgamma[c] += dy[i] * (x[i] - mean[c]) * rstd;
      dbeta[c] += dy[i];
    }
    for (int64_t i = c; i < elements; i += channels)
      dx[i] = gamma[c] * rstd *
              (dy[i] - dbeta[c] / rows -
               (x[i] - mean[c]) * rstd * dgamma[c] / rows);
  }
  results.push_back(HostTensor::floats(type, std::move(dx)));
  results.push_back(
      HostTensor::floats(tensorType(getGammaGradient()), std::move(dgamma)));
  results.push_back(
      HostTensor::floats(tensorType(getBetaGradient()), std::move(dbeta)));
  return success();
}

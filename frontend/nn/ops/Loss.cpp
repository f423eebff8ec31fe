// Losses.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// Scale, loss and its gradient are sums over the rows: float32 where those
/// have 16 bits.
static LogicalResult expectSum(Operation *op, StringRef what, Value value,
                               Value rows) {
  return expectElementType(op, what, value, computeTypeOf(elementTypeOf(rows)));
}

/// `what` has the rows of logits. Classes: how many a row of logits has.
template <typename Op>
static LogicalResult verifyLabels(Op op, StringRef what, Value rows,
                                  int64_t classes) {
  Value labels = op.getLabels();
  const auto shift = static_cast<int64_t>(op.getShift());
  if (failed(expectRankAtLeast(op, what, rows, 1)) ||
      failed(expectShape(op, "labels", labels, shapeOf(rows).drop_back())) ||
      failed(expectSum(op, "scale", op.getScale(), rows)))
    return failure();
  const int64_t sequence = shapeOf(labels).empty() ? 1 : shapeOf(labels).back();
  if (shift < 0 || (shift > 0 && shift >= sequence))
    return op->emitOpError("expects shift to be in [0, ")
           << sequence << "), got " << shift;
  const double part = op.getSmoothing().convertToDouble();
  if (!(part >= 0 && part <= 1))
    return op->emitOpError("expects smoothing to be in [0, 1], got ") << part;
  return op.getClassWeights()
             ? expectType(op, "class_weights", op.getClassWeights(), {classes},
                          elementTypeOf(op.getScale()))
             : success();
}

template <typename Op> static LogicalResult verifyLogits(Op op) {
  ArrayRef<int64_t> shape = shapeOf(op.getLogits());
  return verifyLabels(op, "logits", op.getLogits(),
                      shape.empty() ? 0 : shape.back());
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyLogits(*this)))
    return failure();
  return expectSum(*this, "loss", getLoss(), getLogits());
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyLogits(*this)) ||
      failed(expectSum(*this, "gradient", getGradient(), getLogits())))
    return failure();
  return expectType(*this, "result", getResult(), shapeOf(getLogits()),
                    elementTypeOf(getLogits()));
}

template <typename Op> static LogicalResult verifyLinearCrossEntropy(Op op) {
  if (failed(expectRank(op, "weight", op.getWeight(), 2)))
    return failure();
  const int64_t classes =
      shapeOf(op.getWeight())[op.getTransposeWeight() ? 0 : 1];
  if (failed(verifyLabels(op, "input", op.getInput(), classes)))
    return failure();
  const int64_t in = shapeOf(op.getInput()).back();
  Type element = elementTypeOf(op.getInput());
  SmallVector<int64_t> weight{in, classes};
  if (op.getTransposeWeight())
    std::swap(weight[0], weight[1]);
  if (failed(expectType(op, "weight", op.getWeight(), weight, element)) ||
      failed(expectSum(op, "loss", op.getLoss(), op.getInput())))
    return failure();
  if (failed(expectSoftcap(op, op.getSoftcap())))
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
    return expectTypeOrWide(*this, what, gradient, shapeOf(value),
                            elementTypeOf(value));
  };
  return success(
      (!getInputGradient() ||
       succeeded(expectType(*this, "input_gradient", getInputGradient(),
                            shapeOf(getInput()), elementTypeOf(getInput())))) &&
      succeeded(
          expectLike("weight_gradient", getWeightGradient(), getWeight())) &&
      succeeded(expectLike("bias_gradient", getBiasGradient(), getBias())));
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
CrossEntropyOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  if (llvm::is_contained(needed.drop_front(2), true))
    return emitOpError("has no gradient of its scale and class_weights");
  operandGradients.assign(needed.size(), Value());
  operandGradients[0] = CrossEntropyGradOp::create(
      builder, getLoc(), getLogits().getType(), resultGradients[0], getLogits(),
      getLabels(), getScale(), getClassWeights(), getIgnoreIndexAttr(),
      getShiftAttr(), getSmoothingAttr());
  return success();
}

LogicalResult LinearCrossEntropyOp::differentiate(
    OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,
    SmallVectorImpl<Value> &operandGradients) {
  // The twin computes the loss too and stands where this op stood: the logits
  // are made only once.
  const bool hasBias = static_cast<bool>(getBias());
  if (llvm::is_contained(needed.drop_front(hasBias ? 4 : 3), true))
    return emitOpError("has no gradient of its scale and class_weights");
  Type none;
  OpBuilder before(*this);
  auto twin = LinearCrossEntropyGradOp::create(
      before, getLoc(), getLoss().getType(),
      needed[0] ? getInput().getType() : none,
      needed[1] ? getWeight().getType() : none,
      hasBias && needed[2] ? getBias().getType() : none, getInput(),
      getWeight(), getBias(), getLabels(), getScale(), getClassWeights(),
      getIgnoreIndexAttr(), getShiftAttr(), getTransposeWeightAttr(),
      getSoftcapAttr(), getSmoothingAttr());
  getLoss().replaceAllUsesWith(twin.getLoss());

  Formula f(builder, getLoc());
  Value dy = resultGradients[0];
  DenseElementsAttr constant;
  const bool isOne =
      matchPattern(dy, m_Constant(&constant)) && isSplatOf(constant, 1);
  auto scaled = [&](Value gradient) -> Value {
    if (!gradient || isOne)
      return gradient;
    Value factor = f.cast(dy, elementTypeOf(gradient));
    return f.mul(
        gradient,
        f.broadcast(f.reshape(factor, SmallVector<int64_t>(
                                          tensorType(gradient).getRank(), 1)),
                    gradient));
  };
  operandGradients.assign(needed.size(), Value());
  operandGradients[0] = scaled(twin.getInputGradient());
  operandGradients[1] = scaled(twin.getWeightGradient());
  if (hasBias)
    operandGradients[2] = scaled(twin.getBiasGradient());
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t CrossEntropyOp::flops() {
  return 4 * tensorType(getLogits()).getNumElements();
}
int64_t CrossEntropyGradOp::flops() {
  return 6 * tensorType(getLogits()).getNumElements();
}

template <typename Op> static int64_t classesOf(Op op) {
  return shapeOf(op.getWeight())[op.getTransposeWeight() ? 0 : 1];
}

/// Elements of the logits, which exist only chunk by chunk.
template <typename Op> static int64_t logitElements(Op op) {
  return tensorType(op.getLabels()).getNumElements() * classesOf(op);
}

int64_t LinearCrossEntropyOp::flops() {
  return logitElements(*this) * (2 * shapeOf(getInput()).back() + 4);
}

int64_t LinearCrossEntropyGradOp::flops() {
  const int64_t products =
      1 + (getInputGradient() ? 1 : 0) + (getWeightGradient() ? 1 : 0);
  return logitElements(*this) * (2 * products * shapeOf(getInput()).back() + 6);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Labels are positions among the classes; what a run does about ignored ones
/// is its own business.
template <typename Op>
static std::optional<PositionRange> labelsOf(Op op, OpOperand &operand,
                                             int64_t classes) {
  if (&operand != &op.getLabelsMutable())
    return std::nullopt;
  return PositionRange{0, classes - 1};
}

std::optional<PositionRange> CrossEntropyOp::positionsOf(OpOperand &operand) {
  return labelsOf(*this, operand, shapeOf(getLogits()).back());
}
std::optional<PositionRange>
CrossEntropyGradOp::positionsOf(OpOperand &operand) {
  return labelsOf(*this, operand, shapeOf(getLogits()).back());
}
std::optional<PositionRange>
LinearCrossEntropyOp::positionsOf(OpOperand &operand) {
  return labelsOf(*this, operand, classesOf(*this));
}
std::optional<PositionRange>
LinearCrossEntropyGradOp::positionsOf(OpOperand &operand) {
  return labelsOf(*this, operand, classesOf(*this));
}

//===----------------------------------------------------------------------===//
// Types of operands
//===----------------------------------------------------------------------===//

// A sum in float32 is multiplied by the scale, and what is added up in it by
// the weights of classes.
template <typename Op> static bool isOfSum(Op op, OpOperand &operand) {
  return operand.getOperandNumber() >= op.getScaleMutable().getOperandNumber();
}
OperandType CrossEntropyOp::operandType(OpOperand &operand) {
  return isOfSum(*this, operand) ? OperandType::Float32 : OperandType::Any;
}
OperandType LinearCrossEntropyOp::operandType(OpOperand &operand) {
  return isOfSum(*this, operand) ? OperandType::Float32 : OperandType::Computed;
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

/// The class that each row is compared with; -1 for a row that does not count.
using Targets = HostTensor::Ints;

/// An error for a label that is neither a class nor `ignore`.
static FailureOr<Targets> findTargets(Operation *op, const HostTensor &labels,
                                      int64_t classes, int64_t ignore,
                                      int64_t shift) {
  Targets targets;
  const int64_t length = labels.rank() ? labels.shape().back() : 1;
  for (int64_t row = 0; row < labels.elements(); ++row) {
    const bool counts = row % length + shift < length;
    const int64_t label = counts ? labels.intAt(row + shift) : ignore;
    if (counts && label != ignore && (label < 0 || label >= classes))
      return op->emitOpError("expects labels in [0, ")
             << classes << ") or " << ignore << ", got " << label;
    targets.push_back(counts && label != ignore ? label : -1);
  }
  return targets;
}

/// Returns the loss of all rows times `scale`; `gradient`, if not null, becomes
/// factor * (mass * softmax - wanted). What is wanted of a class is the weight
/// of its log probability, mass the sum of that over the classes.
template <typename Op>
static double crossEntropy(Op op, const Floats &logits, const Targets &targets,
                           int64_t classes, const HostTensor &weights,
                           double scale, double factor, Floats *gradient) {
  const double part = op.getSmoothing().convertToDouble();
  auto wanted = [&](int64_t i, int64_t target) {
    return ((i == target ? 1 - part : 0) +
            part / static_cast<double>(classes)) *
           (weights ? weights.floatAt(i) : 1);
  };
  double loss = 0;
  if (gradient)
    gradient->assign(logits.size(), 0);
  for (auto [row, target] : llvm::enumerate(targets)) {
    if (target < 0)
      continue;
    const double *x = &logits[row * classes];
    const double largest = *std::max_element(x, x + classes);
    double sum = 0, mass = weights ? 0 : 1;
    for (int64_t i = 0; i < classes; ++i) {
      sum += std::exp(x[i] - largest);
      mass += weights ? wanted(i, target) : 0;
    }
    loss += mass * (largest + std::log(sum));
    for (int64_t i = 0; i < classes; ++i)
      if (const double of = wanted(i, target); of != 0)
        loss -= of * x[i];
    for (int64_t i = 0; gradient && i < classes; ++i)
      (*gradient)[row * classes + i] =
          factor * (mass * std::exp(x[i] - largest) / sum - wanted(i, target));
  }
  return scale * loss;
}

/// None where all classes weigh 1.
template <typename Op>
static HostTensor weightsOf(Op op, ArrayRef<HostTensor> operands) {
  return op.getClassWeights() ? operands.back() : HostTensor();
}

LogicalResult CrossEntropyOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  const int64_t classes = shapeOf(getLogits()).back();
  auto targets =
      findTargets(*this, operands[1], classes, getIgnoreIndex(), getShift());
  if (failed(targets))
    return failure();
  const double loss = crossEntropy(*this, operands[0].toFloats(), *targets,
                                   classes, weightsOf(*this, operands),
                                   operands[2].floatAt(int64_t(0)), 0, nullptr);
  results.push_back(HostTensor::splat(tensorType(getLoss()), loss));
  return success();
}

LogicalResult
CrossEntropyGradOp::evaluate(ArrayRef<HostTensor> operands,
                             SmallVectorImpl<HostTensor> &results) {
  const int64_t classes = shapeOf(getLogits()).back();
  auto targets =
      findTargets(*this, operands[2], classes, getIgnoreIndex(), getShift());
  if (failed(targets))
    return failure();
  Floats gradient;
  const double scale = operands[3].floatAt(int64_t(0));
  crossEntropy(*this, operands[1].toFloats(), *targets, classes,
               weightsOf(*this, operands), scale,
               scale * operands[0].floatAt(int64_t(0)), &gradient);
  results.push_back(
      HostTensor::floats(tensorType(getResult()), std::move(gradient)));
  return success();
}

namespace {
/// Logits of linear(input, weight) + bias, and what flows back through it.
struct PlainLinear {
  int64_t rows, in, classes;
  double softcap;
  Floats input, weight; // weight: [in, classes]

  template <typename Op>
  PlainLinear(Op op, ArrayRef<HostTensor> operands)
      : rows(tensorType(op.getLabels()).getNumElements()),
        in(shapeOf(op.getInput()).back()),
        classes(shapeOf(op.getWeight())[op.getTransposeWeight() ? 0 : 1]),
        softcap(op.getSoftcap().convertToDouble()),
        input(operands[0].toFloats()),
        weight((op.getTransposeWeight() ? operands[1].transposed({1, 0})
                                        : operands[1])
                   .toFloats()) {}

  Floats logits(const HostTensor &bias) const {
    Floats values(rows * classes, 0);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < classes; ++c) {
        double &value = values[row * classes + c];
        value = bias ? bias.floatAt(c) : 0;
        for (int64_t i = 0; i < in; ++i)
          value += input[row * in + i] * weight[i * classes + c];
        if (softcap != 0)
          value = softcap * std::tanh(value / softcap);
      }
    return values;
  }
  /// What a softcap's derivative is, by the logit that it has left.
  double slope(double logit) const {
    return softcap == 0 ? 1 : 1 - logit * logit / (softcap * softcap);
  }
};
} // namespace

LogicalResult
LinearCrossEntropyOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const PlainLinear linear(*this, operands);
  const HostTensor bias = getBias() ? operands[2] : HostTensor();
  const HostTensor &labels = operands[getBias() ? 3 : 2],
                   &scale = operands[getBias() ? 4 : 3];
  auto targets =
      findTargets(*this, labels, linear.classes, getIgnoreIndex(), getShift());
  if (failed(targets))
    return failure();
  const double loss = crossEntropy(*this, linear.logits(bias), *targets,
                                   linear.classes, weightsOf(*this, operands),
                                   scale.floatAt(int64_t(0)), 0, nullptr);
  results.push_back(HostTensor::splat(tensorType(getLoss()), loss));
  return success();
}

LogicalResult
LinearCrossEntropyGradOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  const PlainLinear linear(*this, operands);
  const HostTensor bias = getBias() ? operands[2] : HostTensor();
  const HostTensor &labels = operands[getBias() ? 3 : 2];
  const double scale = operands[getBias() ? 4 : 3].floatAt(int64_t(0));
  auto targets =
      findTargets(*this, labels, linear.classes, getIgnoreIndex(), getShift());
  if (failed(targets))
    return failure();
  const Floats logits = linear.logits(bias);
  Floats dLogits;
  const double loss =
      crossEntropy(*this, logits, *targets, linear.classes,
                   weightsOf(*this, operands), scale, scale, &dLogits);
  const int64_t rows = linear.rows, in = linear.in, classes = linear.classes;
  Floats dInput(rows * in, 0), dWeight(in * classes, 0), dBias(classes, 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < classes; ++c) {
      const int64_t at = row * classes + c;
      const double d = dLogits[at] * linear.slope(logits[at]);
      dBias[c] += d;
      for (int64_t i = 0; i < in; ++i) {
        dInput[row * in + i] += d * linear.weight[i * classes + c];
        dWeight[getTransposeWeight() ? c * in + i : i * classes + c] +=
            d * linear.input[row * in + i];
      }
    }
  results.push_back(HostTensor::splat(tensorType(getLoss()), loss));
  if (Value gradient = getInputGradient())
    results.push_back(
        HostTensor::floats(tensorType(gradient), std::move(dInput)));
  if (Value gradient = getWeightGradient())
    results.push_back(
        HostTensor::floats(tensorType(gradient), std::move(dWeight)));
  if (Value gradient = getBiasGradient())
    results.push_back(
        HostTensor::floats(tensorType(gradient), std::move(dBias)));
  return success();
}

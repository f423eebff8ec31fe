// Ops that draw numbers.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/DrawnWords.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc::nn;
using shardc::runtime::Bits32;
using shardc::runtime::threefry2x32;
using shardc::runtime::TwoWords;

namespace {

/// A word of a kernel that is being built.
struct KernelWord {
  OpBuilder *builder;
  Location loc;
  Value value;

  KernelWord with(Value other) const { return {builder, loc, other}; }
  KernelWord like(uint32_t number) const {
    return with(arith::ConstantOp::create(
        *builder, loc,
        builder->getI32IntegerAttr(static_cast<int32_t>(number))));
  }
  KernelWord operator+(const KernelWord &other) const {
    return with(arith::AddIOp::create(*builder, loc, value, other.value));
  }
  KernelWord operator^(const KernelWord &other) const {
    return with(arith::XOrIOp::create(*builder, loc, value, other.value));
  }
  KernelWord rotated(unsigned bits) const {
    Value high = arith::ShLIOp::create(*builder, loc, value, like(bits).value);
    return with(
        arith::OrIOp::create(*builder, loc, high, shifted(32 - bits).value));
  }
  KernelWord shifted(unsigned bits) const {
    return with(arith::ShRUIOp::create(*builder, loc, value, like(bits).value));
  }
};

template <typename Op> Placement placementOf(Op op) {
  const int64_t samples = op.getSamples(), stride = op.getSampleStride();
  return {samples, stride, tensorType(op.getResult()).getNumElements()};
}

/// Two random words for an element.
TwoWords<Bits32> drawnFor(const RunWords &words, const Placement &of,
                          int64_t element) {
  const auto number = static_cast<uint32_t>(of.numberOf(element));
  return threefry2x32(words[Key0], words[Key1], Bits32{number},
                      words.sampleOf(of, element));
}

/// They are read in a kernel whose three loops are those of what lies before
/// the samples, of the samples, and of what lies behind them.
struct WordReader {
  OpBuilder &builder;
  Location loc;
  Value words;

  KernelWord operator[](DrawnWord place) const {
    Value index = arith::ConstantIndexOp::create(builder, loc, place);
    return {&builder, loc,
            tensor::ExtractOp::create(builder, loc, words, ValueRange(index))};
  }
  KernelWord position(int64_t dim) const {
    return {
        &builder, loc,
        arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                   linalg::IndexOp::create(builder, loc, dim))};
  }
  /// Two random words for the element.
  TwoWords<KernelWord> draw(const Placement &of) const {
    KernelWord number = position(2);
    if (of.outer > 1) {
      KernelWord before = position(0);
      number =
          number + before.with(arith::MulIOp::create(
                       builder, loc, before.value,
                       number.like(static_cast<uint32_t>(of.stride)).value));
    }
    KernelWord sample =
        of.isPerSample ? (*this)[FirstSample] + position(1) : number.like(0);
    return threefry2x32((*this)[Key0], (*this)[Key1], number, sample);
  }
};

/// The operands and attributes that nn-place-draws gives.
template <typename Op> LogicalResult verifyPlaced(Op op) {
  const int64_t elements = tensorType(op.getResult()).getNumElements();
  if (failed(expectPlaced(op, op.getWords(), op.getSamples(),
                          op.getSampleStride(), elements)))
    return failure();
  const int64_t ofSample =
      elements / std::max<int64_t>(int64_t(op.getSamples()), 1);
  if (ofSample > int64_t(1) << 32)
    return op.emitOpError("expects at most 2^32 elements of a sample, got ")
           << ofSample;
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  if (!getWords()) {
    if (!getRate() || !getSite())
      return emitOpError("expects a rate and a site, or words");
    const double rate = getRate()->convertToDouble();
    if (!(rate >= 0 && rate <= 1))
      return emitOpError("expects a rate in [0, 1], got ") << rate;
    return success();
  }
  return verifyPlaced(*this);
}

LogicalResult DrawOp::verify() {
  if (getLike() &&
      failed(expectShape(*this, "like", getLike(), shapeOf(getResult()))))
    return failure();
  if (!getWords())
    return getSite() ? success() : emitOpError("expects a site, or words");
  return verifyPlaced(*this);
}

//===----------------------------------------------------------------------===//
// Site
//===----------------------------------------------------------------------===//

template <typename Op>
static void placeAt(Op op, Value words, int64_t samples, int64_t stride) {
  op.getWordsMutable().assign(words);
  op.removeSiteAttr();
  op.removeSamplesFirstAttr();
  op.setSamples(stride ? samples : 0);
  op.setSampleStride(stride);
}

int64_t DropoutOp::drawnSite() { return *getSite(); }
Value DropoutOp::sampledLike() { return getInput(); }
bool DropoutOp::samplesComeFirst() { return getSamplesFirst(); }
FloatAttr DropoutOp::droppedShare() { return getRateAttr(); }
void DropoutOp::keepAll() {
  getResult().replaceAllUsesWith(getInput());
  erase();
}
void DropoutOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
  removeRateAttr();
}

int64_t DrawOp::drawnSite() { return *getSite(); }
Value DrawOp::sampledLike() { return getLike(); }
bool DrawOp::samplesComeFirst() { return getSamplesFirst(); }
FloatAttr DrawOp::droppedShare() { return {}; }
void DrawOp::keepAll() {}
void DrawOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
  getLikeMutable().clear();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
DropoutOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool>,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  operandGradients[0] = DropoutOp::create(
      builder, getLoc(), resultGradients[0].getType(), resultGradients[0],
      getWords(), getRateAttr(), getSiteAttr(), getSamplesFirstAttr(),
      getSamplesAttr(), getSampleStrideAttr());
  return success();
}

LogicalResult DrawOp::differentiate(OpBuilder &, ValueRange, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t DropoutOp::flops() {
  return flopsOfWords * tensorType(getInput()).getNumElements();
}

int64_t DrawOp::flops() {
  // A logarithm, a root and a cosine.
  constexpr int64_t functions = 60;
  const bool isNormal = getDistribution() == Distribution::normal;
  return (flopsOfWords + (isNormal ? functions : 0)) *
         tensorType(getResult()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  // What is not drawn yet has no value.
  if (operands.size() < 2)
    return failure();
  const RunWords words{operands[1].toInts()};
  const Placement placement = placementOf(*this);
  const int32_t threshold = words.threshold();
  const double scale = words.scale();
  HostTensor::Floats elements = operands[0].toFloats();
  for (auto [i, element] : llvm::enumerate(elements)) {
    auto [drawn, unused] = drawnFor(words, placement, static_cast<int64_t>(i));
    const bool isKept = static_cast<int32_t>(drawn.value) >= threshold;
    element = isKept ? element * scale : 0;
  }
  results.push_back(
      HostTensor::floats(operands[0].type(), std::move(elements)));
  return success();
}

// A float32 holds them: 24 bits.
constexpr unsigned droppedBits = 8;
constexpr double numberWidth = 1.0 / (1 << 24);

LogicalResult DrawOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  if (!getWords())
    return failure();
  const RunWords words{operands.back().toInts()};
  const Placement placement = placementOf(*this);
  const RankedTensorType type = tensorType(getResult());
  HostTensor::Floats elements(type.getNumElements());
  for (auto [i, element] : llvm::enumerate(elements)) {
    auto [first, second] = drawnFor(words, placement, static_cast<int64_t>(i));
    element = (first.value >> droppedBits) * numberWidth;
    if (getDistribution() == Distribution::normal)
      element = std::sqrt(-2 * std::log(element + numberWidth)) *
                std::cos(2 * std::numbers::pi *
                         ((second.value >> droppedBits) * numberWidth));
  }
  results.push_back(HostTensor::floats(type, std::move(elements)));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel body
//===----------------------------------------------------------------------===//

/// The float64 of two words as a scalar of `type`; it depends on no loop.
static Value buildScale(OpBuilder &builder, Location loc, Value low, Value high,
                        Type type) {
  Type bits = builder.getI64Type();
  Value wideHigh = arith::ExtUIOp::create(builder, loc, bits, high);
  Value shifted = arith::ShLIOp::create(
      builder, loc, wideHigh, KernelBuilder(builder, loc).constant(bits, 32));
  Value wideLow = arith::ExtUIOp::create(builder, loc, bits, low);
  Value whole = arith::OrIOp::create(builder, loc, shifted, wideLow);
  Value scale =
      arith::BitcastOp::create(builder, loc, builder.getF64Type(), whole);
  return convertFloat(builder, loc, scale, type);
}

LogicalResult DropoutOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  if (!getWords())
    return emitOpError("expects words; nn-place-draws gives them");
  const auto type = tensorType(getResult());
  const Placement placement = placementOf(*this);
  KernelBuilder kernel(builder, getLoc());
  // The loops count what the numbers are drawn by.
  const int64_t shape[] = {placement.outer, placement.samples,
                           placement.stride};
  Value flat = kernel.reshape(operands[0], shape);
  Value dropped = kernel.map(
      tensorType(flat), flat, [&](OpBuilder &nested, ValueRange x) -> Value {
        const Location loc = getLoc();
        const WordReader words{nested, loc, operands[1]};
        auto [drawn, unused] = words.draw(placement);
        Value isKept =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::sge,
                                  drawn.value, words[Threshold].value);
        Value scale = buildScale(nested, loc, words[ScaleLow].value,
                                 words[ScaleHigh].value, x[0].getType());
        Value kept = arith::MulFOp::create(nested, loc, x[0], scale);
        return arith::SelectOp::create(
            nested, loc, isKept, kept,
            KernelBuilder(nested, loc).constant(x[0].getType(), 0));
      });
  results.push_back(kernel.reshape(dropped, type.getShape()));
  return success();
}

LogicalResult DrawOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                  SmallVectorImpl<Value> &results) {
  if (!getWords())
    return emitOpError("expects words; nn-place-draws gives them");
  const auto type = tensorType(getResult());
  const Placement placement = placementOf(*this);
  const Type compute = computeTypeOf(type.getElementType());
  KernelBuilder kernel(builder, getLoc());
  const int64_t shape[] = {placement.outer, placement.samples,
                           placement.stride};
  Value drawn = kernel.map(
      type.clone(shape), ValueRange(),
      [&](OpBuilder &nested, ValueRange) -> Value {
        const Location loc = getLoc();
        auto constant = [&](double value) {
          return KernelBuilder(nested, loc).constant(compute, value);
        };
        auto multiply = [&](Value lhs, Value rhs) -> Value {
          return arith::MulFOp::create(nested, loc, lhs, rhs);
        };
        auto number = [&](const KernelWord &word) {
          Value whole = arith::SIToFPOp::create(
              nested, loc, compute, word.shifted(droppedBits).value);
          return multiply(whole, constant(numberWidth));
        };
        auto [first, second] =
            WordReader{nested, loc, operands.back()}.draw(placement);
        Value uniform = number(first);
        if (getDistribution() == Distribution::uniform)
          return uniform;
        Value above =
            arith::AddFOp::create(nested, loc, uniform, constant(numberWidth));
        Value logarithm = math::LogOp::create(nested, loc, above);
        Value radius = math::SqrtOp::create(nested, loc,
                                            multiply(logarithm, constant(-2)));
        Value angle = multiply(number(second), constant(2 * std::numbers::pi));
        return multiply(radius, math::CosOp::create(nested, loc, angle));
      });
  results.push_back(kernel.reshape(drawn, type.getShape()));
  return success();
}

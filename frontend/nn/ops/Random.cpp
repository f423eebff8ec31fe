// Ops that draw numbers.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Threefry.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <bit>

using namespace mlir;
using namespace shardc::nn;

namespace {

/// What the elements of `words` are. The scale is a float64, what elements that
/// are kept are multiplied by.
enum Word : int64_t { FirstSample, Key0, Key1, Threshold, ScaleLow, ScaleHigh };

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
    Value low =
        arith::ShRUIOp::create(*builder, loc, value, like(32 - bits).value);
    return with(arith::OrIOp::create(*builder, loc, high, low));
  }
};

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
  if (failed(expectShape(*this, "words", getWords(), {wordCount})))
    return failure();
  const int64_t samples = getSamples(), stride = getSampleStride();
  const int64_t elements = tensorType(getInput()).getNumElements();
  if (samples < 0 || stride < 0 || (samples == 0) != (stride == 0))
    return emitOpError("expects samples and their stride, or neither, got ")
           << samples << " and " << stride;
  if (samples > 0 && elements % (samples * stride) != 0)
    return emitOpError("expects elements that ")
           << samples << " samples of stride " << stride << " divide, got "
           << elements;
  if (elements / std::max<int64_t>(samples, 1) > int64_t(1) << 32)
    return emitOpError("expects at most 2^32 elements of a sample, got ")
           << elements / std::max<int64_t>(samples, 1);
  return success();
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

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t DropoutOp::flops() {
  // Of each of 20 rounds an addition, a rotation (two shifts and an or) and an
  // exclusive or, and a few ops around them.
  constexpr int64_t each = 110;
  return each * tensorType(getInput()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  // What is not drawn yet has no value.
  if (operands.size() < 2)
    return failure();
  const HostTensor::Ints words = operands[1].toInts();
  auto word = [&](Word place) {
    return Bits32{static_cast<uint32_t>(words[place])};
  };
  const int64_t samples = std::max<int64_t>(getSamples(), 1);
  const bool isPerSample = getSamples() > 0;
  const auto threshold = static_cast<int32_t>(words[Threshold]);
  const auto scale = std::bit_cast<double>(
      uint64_t(word(ScaleHigh).value) << 32 | word(ScaleLow).value);
  HostTensor::Floats elements = operands[0].toFloats();
  const int64_t stride =
      isPerSample ? getSampleStride() : static_cast<int64_t>(elements.size());
  for (auto [i, element] : llvm::enumerate(elements)) {
    const int64_t at = static_cast<int64_t>(i);
    const auto number =
        static_cast<uint32_t>(at / (stride * samples) * stride + at % stride);
    const auto sample = static_cast<uint32_t>(at / stride % samples);
    auto [drawn, unused] = threefry2x32(
        word(Key0), word(Key1), Bits32{number},
        isPerSample ? word(FirstSample) + Bits32{sample} : Bits32{0});
    const bool isKept = static_cast<int32_t>(drawn.value) >= threshold;
    element = isKept ? element * scale : 0;
  }
  results.push_back(
      HostTensor::floats(operands[0].type(), std::move(elements)));
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
  const bool isPerSample = getSamples() > 0;
  const int64_t samples = isPerSample ? getSamples() : 1;
  const int64_t stride =
      isPerSample ? getSampleStride() : type.getNumElements();
  const int64_t outer = type.getNumElements() / (samples * stride);
  KernelBuilder kernel(builder, getLoc());
  // The loops count what the numbers are drawn by.
  const int64_t shape[] = {outer, samples, stride};
  Value flat = kernel.reshape(operands[0], shape);
  Value dropped = kernel.map(
      tensorType(flat), flat, [&](OpBuilder &nested, ValueRange x) -> Value {
        const Location loc = getLoc();
        auto word = [&](Word place) {
          Value index = arith::ConstantIndexOp::create(nested, loc, place);
          return KernelWord{&nested, loc,
                            tensor::ExtractOp::create(nested, loc, operands[1],
                                                      ValueRange(index))};
        };
        auto position = [&](int64_t dim) {
          return KernelWord{&nested, loc,
                            arith::IndexCastOp::create(
                                nested, loc, nested.getI32Type(),
                                linalg::IndexOp::create(nested, loc, dim))};
        };
        KernelWord number = position(2);
        if (outer > 1) {
          KernelWord before = position(0);
          number =
              number + before.with(arith::MulIOp::create(
                           nested, loc, before.value,
                           number.like(static_cast<uint32_t>(stride)).value));
        }
        KernelWord sample =
            isPerSample ? word(FirstSample) + position(1) : number.like(0);
        auto [drawn, unused] =
            threefry2x32(word(Key0), word(Key1), number, sample);
        Value threshold = word(Threshold).value;
        Value isKept = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::sge, drawn.value, threshold);
        Value scale = buildScale(nested, loc, word(ScaleLow).value,
                                 word(ScaleHigh).value, x[0].getType());
        Value kept = arith::MulFOp::create(nested, loc, x[0], scale);
        return arith::SelectOp::create(
            nested, loc, isKept, kept,
            KernelBuilder(nested, loc).constant(x[0].getType(), 0));
      });
  results.push_back(kernel.reshape(dropped, type.getShape()));
  return success();
}

// Weights of classes: a constant, and its numbers.
#include "passes/loss/ClassWeights.h"

#include "frontend/raise/Match.h"

using namespace mlir;

namespace shardc {

Value classWeightsConstant(ArrayRef<double> weights, Type element,
                           OpBuilder &builder) {
  if (weights.empty())
    return {};
  auto type =
      RankedTensorType::get({static_cast<int64_t>(weights.size())}, element);
  return nn::ConstantOp::create(
      builder, builder.getUnknownLoc(),
      nn::HostTensor::floats(type, nn::HostTensor::Floats(weights))
          .toAttribute());
}

SmallVector<double> classWeightsOf(Value weights) {
  if (!weights)
    return {};
  if (auto equal = raise::splatValue(weights))
    return SmallVector<double>(raise::typeOf(weights).getNumElements(), *equal);
  DenseElementsAttr constant;
  if (!matchPattern(weights, m_Constant(&constant)))
    return {};
  const nn::HostTensor::Floats values =
      nn::HostTensor::fromAttribute(constant).toFloats();
  return SmallVector<double>(values.begin(), values.end());
}

LogicalResult checkWeights(const LossOption &option, Value logits) {
  ArrayRef<int64_t> shape = raise::shapeOf(logits);
  const size_t classes = shape.empty() ? 1 : shape.back();
  for (auto [key, weights] :
       {std::pair("class-weights", ArrayRef(option.classWeights)),
        std::pair("pos-weight", ArrayRef(option.positiveWeights))})
    if (bool isOne = key == StringRef("pos-weight") && weights.size() == 1;
        !weights.empty() && !isOne && weights.size() != classes)
      return emitError(UnknownLoc::get(logits.getContext()))
             << "--loss: expects " << key << " to be " << classes
             << ", one for each class of logits '" << option.output << "' "
             << logits.getType() << ", got " << weights.size();
  return success();
}

} // namespace shardc

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

} // namespace shardc

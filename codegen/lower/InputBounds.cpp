// Positions reach what they index through views, which are followed here.
#include "codegen/lower/InputBounds.h"

#include <algorithm>

using namespace mlir;

namespace shardc {

static std::optional<nn::PositionRange> rangeOfUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (op->hasTrait<nn::IsView>())
    return positionsRange(op->getResult(0));
  auto reader = dyn_cast<nn::PositionReader>(op);
  return reader ? reader.positionsOf(use) : std::nullopt;
}

std::optional<nn::PositionRange> positionsRange(Value value) {
  std::optional<nn::PositionRange> result;
  if (!isa<IntegerType>(getElementTypeOrSelf(value.getType())))
    return result;
  for (OpOperand &use : value.getUses())
    if (std::optional<nn::PositionRange> range = rangeOfUse(use)) {
      if (!result)
        result = range;
      result->min = std::max(result->min, range->min);
      result->max = std::min(result->max, range->max);
    }
  return result;
}

} // namespace shardc

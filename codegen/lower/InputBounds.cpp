// Which integers an input may hold.
#include "codegen/lower/InputBounds.h"

#include "frontend/nn/NN.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace shardc {

static int64_t dimSize(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getDimSize(dim < 0 ? dim + type.getRank() : dim);
}

static std::optional<IntegerRange> rangeOfUse(OpOperand &use) {
  auto upTo = [](int64_t size) { return IntegerRange{0, size - 1}; };
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, std::optional<IntegerRange>>(
             use.getOwner())
      .Case([&](nn::EmbeddingOp op) -> std::optional<IntegerRange> {
        if (op.getIds() != value)
          return std::nullopt;
        return upTo(dimSize(op.getTable(), 0));
      })
      .Case([&](nn::EmbeddingGradOp op) -> std::optional<IntegerRange> {
        if (op.getIds() != value)
          return std::nullopt;
        return upTo(dimSize(op.getResult(), 0));
      })
      .Case<nn::CrossEntropyOp, nn::CrossEntropyGradOp>(
          [&](auto op) -> std::optional<IntegerRange> {
            if (op.getLabels() != value)
              return std::nullopt;
            return upTo(dimSize(op.getLogits(), -1));
          })
      .Case<nn::LinearCrossEntropyOp, nn::LinearCrossEntropyGradOp>(
          [&](auto op) -> std::optional<IntegerRange> {
            if (op.getLabels() != value)
              return std::nullopt;
            return upTo(
                dimSize(op.getWeight(), op.getTransposeWeight() ? 0 : 1));
          })
      .Case([&](nn::GatherOp op) -> std::optional<IntegerRange> {
        if (op.getIndices() != value)
          return std::nullopt;
        int64_t size = dimSize(op.getData(), op.getAxis());
        return IntegerRange{-size, size - 1};
      })
      .Default([](Operation *op) {
        return op->hasTrait<nn::IsView>() ? positionsRange(op->getResult(0))
                                          : std::nullopt;
      });
}

std::optional<IntegerRange> positionsRange(Value value) {
  std::optional<IntegerRange> result;
  if (!isa<IntegerType>(getElementTypeOrSelf(value.getType())))
    return result;
  for (OpOperand &use : value.getUses())
    if (std::optional<IntegerRange> range = rangeOfUse(use)) {
      if (!result)
        result = range;
      result->min = std::max(result->min, range->min);
      result->max = std::min(result->max, range->max);
    }
  return result;
}

} // namespace shardc

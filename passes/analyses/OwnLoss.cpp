// A loss of the graph, behind views, conversions and constants.
#include "passes/analyses/OwnLoss.h"

#include "frontend/raise/Match.h"

using namespace mlir;

namespace shardc {

StringRef reductionOf(Operation *op) {
  auto reduction =
      op ? op->getAttrOfType<StringAttr>(nn::reductionAttr) : StringAttr();
  return reduction ? reduction.getValue() : StringRef();
}

static Value behindFloatViews(Value value) {
  for (;;) {
    auto reshape = value.getDefiningOp<nn::ReshapeOp>();
    auto cast = value.getDefiningOp<nn::CastOp>();
    if (reshape)
      value = reshape.getInput();
    else if (cast &&
             isa<FloatType>(raise::typeOf(cast.getInput()).getElementType()))
      value = cast.getInput();
    else
      return value;
  }
}

OwnLoss OwnLoss::of(Value output) {
  OwnLoss own{output};
  bool isDivided = false;
  for (;;) {
    Value next = behindFloatViews(own.value);
    if (!reductionOf(next.getDefiningOp()).empty()) {
      own.value = next;
      break;
    }
    if (auto neg = next.getDefiningOp<nn::NegOp>()) {
      own.factor = -own.factor;
      next = neg.getInput();
    } else if (auto mul = next.getDefiningOp<nn::MulOp>()) {
      if (auto rhs = raise::splatValue(mul.getRhs())) {
        own.factor *= *rhs;
        next = mul.getLhs();
      } else if (auto lhs = raise::splatValue(mul.getLhs())) {
        own.factor *= *lhs;
        next = mul.getRhs();
      }
    } else if (auto div = next.getDefiningOp<nn::DivOp>()) {
      auto rhs = raise::splatValue(div.getRhs());
      if (rhs && *rhs != 0) {
        own.factor /= *rhs;
        next = div.getLhs();
        isDivided = true;
      }
    }
    if (next == own.value)
      break;
    own.value = next;
  }
  Operation *losses = own.value.getDefiningOp();
  if (auto sum = dyn_cast_or_null<nn::ReduceSumOp>(losses))
    losses = behindFloatViews(sum.getInput()).getDefiningOp();
  own.isSum = reductionOf(losses) == "sum" && !isDivided;
  return own;
}

} // namespace shardc

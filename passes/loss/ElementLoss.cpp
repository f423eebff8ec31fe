// The formulas of losses, as ops that have gradients.
#include "passes/loss/ElementLoss.h"

#include "frontend/nn/support/Formula.h"
#include "frontend/raise/Match.h"
#include "passes/loss/ClassWeights.h"

using namespace mlir;

namespace shardc {

/// Of the distance: with m = min(distance, d), m (distance - m / 2).
static Value huber(nn::Formula &f, Value distance, double delta) {
  Value near = f.min(distance, f.constant(distance, delta));
  return f.mul(near, f.sub(distance, f.mul(near, f.constant(near, 0.5))));
}

/// Times the weights: one, one for each element of the last dim, or none.
static Value weighted(nn::Formula &f, Value value, ArrayRef<double> weights,
                      OpBuilder &builder) {
  if (weights.empty())
    return value;
  if (weights.size() == 1)
    return f.scale(value, weights.front());
  Value constant = classWeightsConstant(
      weights, raise::typeOf(value).getElementType(), builder);
  SmallVector<int64_t> row(raise::typeOf(value).getRank(), 1);
  row.back() = weights.size();
  return f.mul(value, f.broadcast(f.reshape(constant, row), value));
}

Value elementLoss(const LossOption &option, Value output, Value target,
                  OpBuilder &builder) {
  nn::Formula f(builder, builder.getUnknownLoc());
  const std::string_view kind = option.kind->name;
  if (kind == "soft_cross_entropy") {
    if (option.smoothing != 0)
      target = f.add(
          f.scale(target, 1 - option.smoothing),
          f.constant(target, option.smoothing / raise::shapeOf(target).back()));
    target = weighted(f, target, option.classWeights, builder);
    return f.neg(f.mul(target, f.logSoftmax(output)));
  }
  if (kind == "binary_cross_entropy") {
    Value rest = f.sub(f.constant(target, 1), target);
    target = weighted(f, target, option.positiveWeights, builder);
    return f.add(f.mul(target, f.softplus(f.neg(output))),
                 f.mul(rest, f.softplus(output)));
  }
  Value difference = f.sub(output, target);
  if (kind == "mse")
    return f.mul(difference, difference);
  Value distance = f.abs(difference);
  if (kind == "l1" || option.number == 0)
    return distance;
  Value loss = huber(f, distance, option.number);
  return kind == "huber" ? loss
                         : f.mul(loss, f.constant(loss, 1 / option.number));
}

Value scaledSum(Value value, Value scale, OpBuilder &builder) {
  Location loc = value.getLoc();
  unsigned rank = raise::typeOf(value).getRank();
  if (rank > 0) {
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(rank));
    SmallVector<int64_t> ones(rank, 1);
    if (raise::typeOf(value).getNumElements() != 1)
      value = nn::ReduceSumOp::create(
          builder, loc, raise::withShape(value, ones), value, dims);
    value = nn::ReshapeOp::create(
        builder, loc,
        RankedTensorType::get({}, raise::typeOf(value).getElementType()),
        value);
  }
  return nn::MulOp::create(builder, loc, scale.getType(), value, scale);
}

} // namespace shardc

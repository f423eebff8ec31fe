// The formulas of losses, as ops that have gradients.
#include "passes/loss/ElementLoss.h"

#include "frontend/nn/support/Formula.h"
#include "frontend/raise/Match.h"

using namespace mlir;

namespace shardc {

/// Of the distance: with m = min(distance, d), m (distance - m / 2).
static Value huber(nn::Formula &f, Value distance, double delta) {
  Value near = f.min(distance, f.constant(distance, delta));
  return f.mul(near, f.sub(distance, f.mul(near, f.constant(near, 0.5))));
}

Value elementLoss(const LossOption &option, Value output, Value target,
                  OpBuilder &builder) {
  nn::Formula f(builder, builder.getUnknownLoc());
  const std::string_view kind = option.kind->name;
  if (kind == "soft_cross_entropy")
    return f.neg(f.mul(target, f.logSoftmax(output)));
  if (kind == "binary_cross_entropy") {
    Value rest = f.sub(f.constant(target, 1), target);
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

} // namespace shardc

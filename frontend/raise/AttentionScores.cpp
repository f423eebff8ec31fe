// Scores are read backwards, from the softmax.
#include "frontend/raise/AttentionScores.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

bool hides(Value value) {
  auto number = splatValue(value);
  return number && *number <= hiddenBelow;
}

// value of max(value, lowest), which only keeps masked scores finite, in either
// form that is decoded: a maximum, or a choice of the bound where it is larger.
Value behindLowerBound(Operation *op) {
  if (auto max = dyn_cast<nn::MaxOp>(op)) {
    if (hides(max.getRhs()))
      return max.getLhs();
    return hides(max.getLhs()) ? Value(max.getRhs()) : Value();
  }
  auto select = dyn_cast<nn::SelectOp>(op);
  auto compare = select ? select.getCondition().getDefiningOp<nn::CompareOp>()
                        : nn::CompareOp();
  return compare && compare.getKind() == nn::CompareKind::le &&
                 compare.getLhs() == select.getRhs() &&
                 compare.getRhs() == select.getLhs() && hides(select.getLhs())
             ? Value(select.getRhs())
             : Value();
}

// value less the largest of each of its rows, which no softmax tells from value.
Value behindShift(Operation *op) {
  auto sub = dyn_cast_or_null<nn::SubOp>(op);
  if (!sub)
    return Value();
  View shift = View::of(sub.getRhs(), behindFloatCast);
  auto largest = shift.base().getDefiningOp<nn::ReduceMaxOp>();
  bool isOfRows = largest && largest.getDims().size() == 1 &&
                  largest.getDims()[0] == typeOf(sub.getLhs()).getRank() - 1 &&
                  shift.isAllBroadcast(shift.dims().back());
  return isOfRows && skipFloatCasts(largest.getInput()) ==
                         skipFloatCasts(sub.getLhs())
             ? sub.getLhs()
             : Value();
}

} // namespace

Value raise::behindScaleOrCast(Operation *op) {
  if (Value scaled = behindScale(op))
    return scaled;
  return behindFloatCast(op);
}

bool raise::leadsToProduct(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<nn::MatMulOp>(op))
    return true;
  if (isViewOp(op) || behindFloatCast(op))
    return leadsToProduct(op->getOperand(0), depth - 1);
  if (Value scaled = behindScale(op))
    return leadsToProduct(scaled, depth - 1);
  if (isa<nn::TanhOp>(op))
    return leadsToProduct(op->getOperand(0), depth - 1);
  if (isa<nn::AddOp, nn::SubOp, nn::MaxOp>(op))
    return leadsToProduct(op->getOperand(0), depth - 1) ||
           (!isa<nn::SubOp>(op) &&
            leadsToProduct(op->getOperand(1), depth - 1));
  if (auto select = dyn_cast<nn::SelectOp>(op))
    return leadsToProduct(
        hides(select.getLhs()) ? select.getRhs() : select.getLhs(), depth - 1);
  return false;
}

WithSink WithSink::of(Value value) {
  auto slice = skipFloatCasts(value).getDefiningOp<nn::SliceOp>();
  auto softmax =
      slice ? skipFloatCasts(slice.getInput()).getDefiningOp<nn::SoftmaxOp>()
            : nn::SoftmaxOp();
  if (!softmax)
    return {};
  Value all = skipFloatCasts(softmax.getInput());
  if (Value shifted = behindShift(all.getDefiningOp()))
    all = skipFloatCasts(shifted);
  auto concat = all.getDefiningOp<nn::ConcatOp>();
  SmallVector<int64_t> left(shapeOf(all));
  if (!concat || left.size() < 2 || concat.getInputs().size() != 2 ||
      shapeOf(concat.getInputs()[1]).back() != 1)
    return {};
  --left.back();
  bool isRest =
      int64_t(concat.getAxis()) + 1 == int64_t(left.size()) &&
      shapeOf(slice.getResult()) == ArrayRef(left) &&
      llvm::all_of(slice.getStarts(), [](int64_t at) { return at == 0; });
  return isRest
             ? WithSink{softmax, concat.getInputs()[0], concat.getInputs()[1]}
             : WithSink();
}

bool ScoresChain::walk(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    misfit = value;
    if ((product = dyn_cast<nn::MatMulOp>(op)))
      return true;
    if (isViewOp(op)) {
      path.push_back(op);
      value = op->getOperand(0);
    } else if (Value behind = behindFloatCast(op)) {
      value = behind;
    } else if (Value scaled = behindScale(op)) {
      scale *= scaleOf(op);
      value = scaled;
    } else if (auto tanh = dyn_cast<nn::TanhOp>(op);
               tanh && softcap == 0 && scale > 0 && std::isfinite(scale)) {
      softcap = scale;
      value = tanh.getInput();
    } else if (softcap != 0) {
      return false; // a mask that is capped itself
    } else if (Value unshifted = behindShift(op)) {
      value = unshifted;
    } else if (isa<nn::AddOp, nn::SubOp>(op)) {
      unsigned side =
          leadsToProduct(op->getOperand(0)) || isa<nn::SubOp>(op) ? 0 : 1;
      if (!mask.addFloat(op->getOperand(1 - side),
                         isa<nn::SubOp>(op) ? -scale : scale, path)) {
        misfit = op->getOperand(1 - side);
        return false;
      }
      value = op->getOperand(side);
    } else if (Value bounded = behindLowerBound(op)) {
      value = bounded;
    } else if (auto select = dyn_cast<nn::SelectOp>(op); select && scale > 0) {
      bool hidesWhere = hides(select.getLhs());
      if (!hidesWhere && !hides(select.getRhs()))
        return false;
      if (!mask.addCondition(select.getCondition(), hidesWhere, path)) {
        misfit = select.getCondition();
        return false;
      }
      value = hidesWhere ? select.getRhs() : select.getLhs();
    } else {
      return false;
    }
  }
  misfit = value;
  return false;
}

// Taking a mask expression apart: sums, selections and conjunctions down to
// terms that are classified one by one.
#include "frontend/raise/Mask.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

// The view of `value`, carried along `path` to the scores.
static std::optional<View> follow(Value value, ArrayRef<Operation *> path) {
  View view = View::of(value);
  for (Operation *op : llvm::reverse(path))
    if (!view.apply(op))
      return std::nullopt;
  return view;
}

constexpr unsigned mostSteps = 256;

static bool isBoolean(Value value) {
  return typeOf(value).getElementType().isInteger(1);
}

// value = cast of a boolean to a number, seen through views; returns the
// boolean and extends the path.
static Value behindBooleanCast(Value value,
                               SmallVectorImpl<Operation *> &path) {
  SmallVector<Operation *> views;
  while (Operation *op = value.getDefiningOp()) {
    if (auto cast = dyn_cast<nn::CastOp>(op)) {
      if (isBoolean(cast.getInput())) {
        path.append(views);
        return cast.getInput();
      }
    } else if (isViewOp(op)) {
      views.push_back(op);
    } else {
      return Value();
    }
    value = op->getOperand(0);
  }
  return Value();
}

bool MaskTerms::addFloat(Value value, double factor,
                         SmallVector<Operation *> path) {
  auto leaf = [&] {
    auto view = follow(value, path);
    if (view)
      terms.push_back({std::move(*view), false, false, factor});
    return view.has_value();
  };
  // What is taken apart further than any mask is made of stays whole: sums may
  // be as long as the model is.
  if (++steps > mostSteps)
    return leaf();
  // The same number for all keys of a row changes nothing, unless it hides
  // them.
  if (auto number = splatValue(value); number &&
                                       *number * factor > hiddenBelow &&
                                       std::isfinite(*number * factor))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return leaf();
  if (isViewOp(op)) {
    path.push_back(op);
    return addFloat(op->getOperand(0), factor, path);
  }
  if (Value behind = behindFloatCast(op))
    return addFloat(behind, factor, path);
  SmallVector<Operation *> boolPath = path;
  if (auto cast = dyn_cast<nn::CastOp>(op);
      cast && isBoolean(cast.getInput()) && factor <= hiddenBelow)
    return addCondition(cast.getInput(), /*negated=*/true, path);
  if (auto neg = dyn_cast<nn::NegOp>(op))
    return addFloat(neg.getInput(), -factor, path);
  if (auto mul = dyn_cast<nn::MulOp>(op)) {
    for (auto [a, b] : {std::pair(mul.getLhs(), mul.getRhs()),
                        std::pair(mul.getRhs(), mul.getLhs())})
      if (auto number = splatValue(b); number && std::isfinite(*number))
        return addFloat(a, factor * *number, path);
  }
  if (auto div = dyn_cast<nn::DivOp>(op))
    if (auto number = splatValue(div.getRhs()); number && *number != 0)
      return addFloat(div.getLhs(), factor / *number, path);
  if (auto sub = dyn_cast<nn::SubOp>(op);
      sub && isSplat(sub.getLhs(), 1) && factor <= hiddenBelow)
    if (Value seen = behindBooleanCast(sub.getRhs(), boolPath))
      return addCondition(seen, /*negated=*/false, boolPath);
  // (seen - 1) * large.
  if (isa<nn::SubOp, nn::AddOp>(op) && factor >= -hiddenBelow &&
      isSplat(op->getOperand(1), isa<nn::SubOp>(op) ? 1 : -1))
    if (Value seen = behindBooleanCast(op->getOperand(0), boolPath))
      return addCondition(seen, /*negated=*/false, boolPath);
  if (auto add = dyn_cast<nn::AddOp>(op);
      add && !splatValue(add.getLhs()) && !splatValue(add.getRhs()))
    return addFloat(add.getLhs(), factor, path) &&
           addFloat(add.getRhs(), factor, path);
  if (auto select = dyn_cast<nn::SelectOp>(op)) {
    auto hides = [&](Value branch) {
      auto number = splatValue(branch);
      return number && *number * factor <= hiddenBelow;
    };
    if (hides(select.getRhs()))
      return addCondition(select.getCondition(), false, path) &&
             addFloat(select.getLhs(), factor, path);
    if (hides(select.getLhs()))
      return addCondition(select.getCondition(), true, path) &&
             addFloat(select.getRhs(), factor, path);
  }
  return leaf();
}

bool MaskTerms::addCondition(Value value, bool negated,
                             SmallVector<Operation *> path) {
  if (auto number = splatValue(value); number && (*number != 0) != negated)
    return true;
  Operation *op = ++steps > mostSteps ? nullptr : value.getDefiningOp();
  if (op && isViewOp(op)) {
    path.push_back(op);
    return addCondition(op->getOperand(0), negated, path);
  }
  if (auto notOp = dyn_cast_or_null<nn::NotOp>(op))
    return addCondition(notOp.getInput(), !negated, path);
  if (isa_and_nonnull<nn::AndOp, nn::OrOp>(op) && isa<nn::AndOp>(op) != negated)
    return addCondition(op->getOperand(0), negated, path) &&
           addCondition(op->getOperand(1), negated, path);
  if (auto cast = dyn_cast_or_null<nn::CastOp>(op)) {
    SmallVector<Operation *> boolPath = path;
    if (Value inner = behindBooleanCast(cast.getInput(), boolPath))
      return addCondition(inner, negated, boolPath);
  }
  if (auto compare = dyn_cast_or_null<nn::CompareOp>(op);
      compare && (compare.getKind() == nn::CompareKind::eq ||
                  compare.getKind() == nn::CompareKind::ne)) {
    SmallVector<Operation *> boolPath = path;
    auto number = splatValue(compare.getRhs());
    if (number && (*number == 0 || *number == 1))
      if (Value inner = behindBooleanCast(compare.getLhs(), boolPath)) {
        bool whenTrue =
            (*number == 1) == (compare.getKind() == nn::CompareKind::eq);
        return addCondition(inner, whenTrue == negated, boolPath);
      }
  }
  auto view = follow(value, path);
  if (view)
    terms.push_back({std::move(*view), true, negated, 1});
  return view.has_value();
}

#include "frontend/raise/MaskedRows.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

/// A boolean behind casts to numbers and back, and whether it was negated on the
/// way.
struct Literal {
  Value value;
  bool isNegated = false;

  explicit Literal(Value value) : value(value) {
    for (;;) {
      if (auto cast = this->value.getDefiningOp<nn::CastOp>()) {
        this->value = cast.getInput();
      } else if (auto notOp = this->value.getDefiningOp<nn::NotOp>()) {
        this->value = notOp.getInput();
        isNegated = !isNegated;
      } else {
        return;
      }
    }
  }
};

bool isMinusInfinity(Value value) {
  return splatValue(value) == -std::numeric_limits<double>::infinity();
}

/// x of x == -inf, or, where it is negated, of x != -inf.
Value comparedWithMinusInfinity(const Literal &literal) {
  auto compare = literal.value.getDefiningOp<nn::CompareOp>();
  if (!compare ||
      compare.getKind() !=
          (literal.isNegated ? nn::CompareKind::ne : nn::CompareKind::eq))
    return Value();
  if (isMinusInfinity(compare.getRhs()))
    return compare.getLhs();
  return isMinusInfinity(compare.getLhs()) ? compare.getRhs() : Value();
}

template <typename Op> Value reducedAlongRows(Value value) {
  auto reduce = value.getDefiningOp<Op>();
  if (!reduce)
    return Value();
  int64_t last = typeOf(reduce.getInput()).getRank() - 1;
  return reduce.getDims() == ArrayRef<int64_t>(last) ? reduce.getInput()
                                                     : Value();
}

/// Booleans of which a value says whether any is true along the rows.
Value anyAlongRows(Value value) {
  if (Value booleans = reducedAlongRows<nn::ReduceMaxOp>(value))
    return booleans;
  auto compare = value.getDefiningOp<nn::CompareOp>();
  bool isCounted = compare && compare.getKind() == nn::CompareKind::gt &&
                   splatValue(compare.getRhs()) == 0.0;
  return isCounted ? reducedAlongRows<nn::ReduceSumOp>(compare.getLhs())
                   : Value();
}

/// Behind what only repeats a value along dims in front or of size 1, and casts
/// between float types: its rows stay rows.
Value behindRepetition(Value value) {
  auto withoutOnes = [](Value of) {
    return shapeOf(of).drop_while([](int64_t size) { return size == 1; });
  };
  for (;;) {
    value = skipFloatCasts(value);
    Operation *op = value.getDefiningOp();
    if (auto broadcast = dyn_cast_if_present<nn::BroadcastOp>(op)) {
      value = broadcast.getInput();
    } else if (auto reshape = dyn_cast_if_present<nn::ReshapeOp>(op);
               reshape && withoutOnes(reshape.getInput()) ==
                              withoutOnes(reshape.getResult())) {
      value = reshape.getInput();
    } else {
      return value;
    }
  }
}

/// x, where a guard holds in the rows whose x are all -inf.
Value maskedWhere(const Literal &guard) {
  Literal rows(behindRepetition(guard.value));
  rows.isNegated ^= guard.isNegated;
  // All are: the least of the booleans is, or none of the others.
  Value booleans = rows.isNegated
                       ? anyAlongRows(rows.value)
                       : reducedAlongRows<nn::ReduceMinOp>(rows.value);
  if (booleans) {
    Literal each(booleans);
    each.isNegated ^= rows.isNegated;
    if (Value x = comparedWithMinusInfinity(each))
      return x;
  }
  if (Value largest = comparedWithMinusInfinity(rows))
    return reducedAlongRows<nn::ReduceMaxOp>(skipFloatCasts(largest));
  return Value();
}

/// Whether -inf in x is -inf in the scores.
bool masks(Value x, Value scores) {
  x = behindRepetition(x), scores = skipFloatCasts(scores);
  if (x == behindRepetition(scores))
    return true;
  auto sum = scores.getDefiningOp<nn::AddOp>();
  return sum && (behindRepetition(sum.getLhs()) == x ||
                 behindRepetition(sum.getRhs()) == x);
}

} // namespace

Value raise::behindRowGuard(Operation *op) {
  auto select = dyn_cast<nn::SelectOp>(op);
  if (!select)
    return Value();
  Literal guard(select.getCondition());
  Value guarded = select.getRhs(), zero = select.getLhs();
  if (splatValue(zero) != 0.0) {
    std::swap(guarded, zero);
    guard.isNegated = !guard.isNegated;
  }
  if (splatValue(zero) != 0.0)
    return Value();
  if (auto isNan = guard.value.getDefiningOp<nn::IsNanOp>())
    return !guard.isNegated &&
                   skipFloatCasts(isNan.getInput()) == skipFloatCasts(guarded)
               ? guarded
               : Value();
  auto softmax = skipFloatCasts(guarded).getDefiningOp<nn::SoftmaxOp>();
  Value x = softmax ? maskedWhere(guard) : Value();
  return x && masks(x, softmax.getInput()) ? guarded : Value();
}

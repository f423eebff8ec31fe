// What the raising patterns ask of values. Constants compare up to float32
// rounding: exporters write 0.7978845834732056.
#include "frontend/raise/Match.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

RankedTensorType raise::withShape(Value like, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, typeOf(like).getElementType());
}

std::optional<double> raise::splatValue(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && (isViewOp(op) || isa<nn::CastOp>(op))) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  auto constant = dyn_cast_or_null<nn::ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || elements.empty() ||
      !(elements.isSplat() || elements.getNumElements() == 1))
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat number = *elements.value_begin<APFloat>();
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    return number.convertToDouble();
  }
  if (auto type = dyn_cast<IntegerType>(elements.getElementType())) {
    APInt number = *elements.value_begin<APInt>();
    return type.getWidth() == 1 ? double(number.getZExtValue())
                                : double(number.getSExtValue());
  }
  return std::nullopt;
}

bool raise::isClose(double value, double expected) {
  return value == expected ||
         std::fabs(value - expected) <=
             1e-6 * std::max(std::fabs(value), std::fabs(expected));
}

bool raise::isSplat(Value value, double expected) {
  auto number = splatValue(value);
  return number && isClose(*number, expected);
}

double raise::withoutFloat32Rounding(double value) {
  if (!std::isfinite(value) || double(float(value)) != value)
    return value;
  // Nobody writes more digits; of seven, every second number has a decimal that
  // rounds to it.
  for (int digits = 1; digits <= 6; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
    double decimal = std::strtod(text, nullptr);
    if (float(decimal) == float(value))
      return decimal;
  }
  return value;
}

Value raise::behindFloatCast(Operation *op) {
  auto castOp = dyn_cast<nn::CastOp>(op);
  if (castOp && isa<FloatType>(typeOf(castOp.getInput()).getElementType()) &&
      isa<FloatType>(typeOf(castOp.getResult()).getElementType()))
    return castOp.getInput();
  return Value();
}

Value raise::behindReshapes(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<nn::ReshapeOp, nn::CastOp>(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return value;
}

Value raise::skipFloatCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value behind = behindFloatCast(op);
    if (!behind)
      break;
    value = behind;
  }
  return value;
}

// Depth bounds the walk: weights are a few ops away from their parameters. A
// value that is read twice on the way is looked at once.
static bool dependsOnly(Value value, bool parametersToo) {
  llvm::SetVector<Value> values;
  values.insert(value);
  size_t begin = 0;
  for (unsigned depth = 16; depth > 0; --depth) {
    size_t end = values.size();
    for (; begin < end; ++begin) {
      Operation *op = values[begin].getDefiningOp();
      if (!op)
        return false;
      if (isa<nn::ConstantOp>(op))
        continue;
      if (isa<nn::GetParameterOp>(op)) {
        if (!parametersToo)
          return false;
        continue;
      }
      if (op->getNumOperands() == 0)
        return false;
      values.insert_range(op->getOperands());
    }
    if (end == values.size())
      return true;
  }
  return false;
}

Value raise::behindScale(Operation *op) {
  if (auto mul = dyn_cast<nn::MulOp>(op)) {
    if (splatValue(mul.getRhs()))
      return mul.getLhs();
    if (splatValue(mul.getLhs()))
      return mul.getRhs();
  }
  if (auto div = dyn_cast<nn::DivOp>(op))
    if (auto number = splatValue(div.getRhs()); number && *number != 0)
      return div.getLhs();
  return Value();
}

double raise::scaleOf(Operation *op) {
  if (auto mul = dyn_cast<nn::MulOp>(op))
    return *splatValue(splatValue(mul.getRhs()) ? mul.getRhs() : mul.getLhs());
  if (auto div = dyn_cast<nn::DivOp>(op))
    return 1 / *splatValue(div.getRhs());
  return 1;
}

bool raise::isWeightLike(Value value) {
  return dependsOnly(value, /*parametersToo=*/true);
}
bool raise::isConstantExpression(Value value) {
  return dependsOnly(value, /*parametersToo=*/false);
}

std::optional<View> raise::alongLastDim(Value value) {
  View view = View::of(value);
  unsigned rank = view.dims().size();
  if (rank == 0 || !view.isAllBroadcast(view.flat(0, rank - 1)))
    return std::nullopt;
  return view;
}

Value raise::emitVector(OpBuilder &builder, Location location,
                        const View &view) {
  return view.emit(builder, location, {view.dims().back()});
}

Value raise::splatConstant(OpBuilder &builder, Location location,
                           RankedTensorType type, double number) {
  Attribute value =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(), number))
          : Attribute(
                builder.getIntegerAttr(type.getElementType(), int64_t(number)));
  return nn::ConstantOp::create(builder, location, type,
                                DenseElementsAttr::get(type, value));
}

Value raise::onesVector(OpBuilder &builder, Location location,
                        RankedTensorType like) {
  return splatConstant(
      builder, location,
      RankedTensorType::get({like.getShape().back()}, like.getElementType()),
      1);
}

// The walk follows only products; `depth` bounds it on shared products of
// products.
static void flatten(Value value, Value stop, Product &product, unsigned depth) {
  value = skipFloatCasts(value);
  if (auto number = splatValue(value)) {
    product.factor *= *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (depth > 0 && value != stop) {
    if (auto mul = dyn_cast_or_null<nn::MulOp>(op)) {
      flatten(mul.getLhs(), stop, product, depth - 1);
      return flatten(mul.getRhs(), stop, product, depth - 1);
    }
    if (auto neg = dyn_cast_or_null<nn::NegOp>(op)) {
      product.factor = -product.factor;
      return flatten(neg.getInput(), stop, product, depth - 1);
    }
    if (auto div = dyn_cast_or_null<nn::DivOp>(op))
      if (auto number = splatValue(div.getRhs()); number && *number != 0) {
        product.factor /= *number;
        return flatten(div.getLhs(), stop, product, depth - 1);
      }
  }
  product.others.push_back(value);
}

Product raise::flattenProduct(Value value, Value stop) {
  Product product;
  flatten(value, stop, product, 4);
  return product;
}

static void flatten(Value value, Sum &sum, unsigned depth) {
  value = skipFloatCasts(value);
  if (auto number = splatValue(value)) {
    sum.offset += *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (depth > 0) {
    if (auto add = dyn_cast_or_null<nn::AddOp>(op)) {
      flatten(add.getLhs(), sum, depth - 1);
      return flatten(add.getRhs(), sum, depth - 1);
    }
    if (auto sub = dyn_cast_or_null<nn::SubOp>(op))
      if (auto number = splatValue(sub.getRhs())) {
        sum.offset -= *number;
        return flatten(sub.getLhs(), sum, depth - 1);
      }
  }
  sum.others.push_back(value);
}

Sum raise::flattenSum(Value value) {
  Sum sum;
  flatten(value, sum, 4);
  return sum;
}

static std::optional<std::array<double, 4>> polynomial(Value value, Value x,
                                                       unsigned depth) {
  using Coefficients = std::array<double, 4>;
  value = skipFloatCasts(value);
  if (value == x)
    return Coefficients{0, 1, 0, 0};
  if (auto number = splatValue(value))
    return Coefficients{*number, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  auto times = [](const Coefficients &a,
                  const Coefficients &b) -> std::optional<Coefficients> {
    Coefficients result{};
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j) {
        if (a[i] == 0 || b[j] == 0)
          continue;
        if (i + j > 3)
          return std::nullopt;
        result[i + j] += a[i] * b[j];
      }
    return result;
  };
  auto plus = [](const Coefficients &a, const Coefficients &b, double sign) {
    Coefficients result;
    for (unsigned i = 0; i < 4; ++i)
      result[i] = a[i] + sign * b[i];
    return result;
  };
  if (!isa<nn::MulOp, nn::AddOp, nn::SubOp, nn::DivOp, nn::PowOp, nn::NegOp>(
          op))
    return std::nullopt;
  auto lhs = polynomial(op->getOperand(0), x, depth - 1);
  if (!lhs)
    return std::nullopt;
  if (isa<nn::NegOp>(op))
    return plus({}, *lhs, -1);
  if (isa<nn::PowOp, nn::DivOp>(op)) {
    auto number = splatValue(op->getOperand(1));
    if (!number || *number == 0)
      return std::nullopt;
    if (isa<nn::DivOp>(op))
      return times(*lhs, {1 / *number, 0, 0, 0});
    if (*number != 1 && *number != 2 && *number != 3)
      return std::nullopt;
    std::optional<Coefficients> result = lhs;
    for (int i = 1; i < *number && result; ++i)
      result = times(*result, *lhs);
    return result;
  }
  auto rhs = polynomial(op->getOperand(1), x, depth - 1);
  if (!rhs)
    return std::nullopt;
  if (isa<nn::MulOp>(op))
    return times(*lhs, *rhs);
  return plus(*lhs, *rhs, isa<nn::SubOp>(op) ? -1 : 1);
}

std::optional<std::array<double, 4>> raise::asPolynomial(Value value, Value x) {
  return polynomial(value, skipFloatCasts(x), 8);
}

bool raise::isSquare(Value value, Value &x) {
  value = skipFloatCasts(value);
  if (auto mul = value.getDefiningOp<nn::MulOp>();
      mul && mul.getLhs() == mul.getRhs()) {
    x = skipFloatCasts(mul.getLhs());
    return true;
  }
  if (auto pow = value.getDefiningOp<nn::PowOp>();
      pow && splatValue(pow.getRhs()) == 2.0) {
    x = skipFloatCasts(pow.getLhs());
    return true;
  }
  return false;
}

bool raise::isMeanOverLastDim(Value value, Value &x) {
  value = skipFloatCasts(value);
  auto overLast = [](Value input, ArrayRef<int64_t> dims) {
    return dims.size() == 1 && dims[0] == typeOf(input).getRank() - 1;
  };
  if (auto mean = value.getDefiningOp<nn::ReduceMeanOp>();
      mean && overLast(mean.getInput(), mean.getDims())) {
    x = skipFloatCasts(mean.getInput());
    return true;
  }
  // sum / C, or sum * (1 / C).
  Product product = flattenProduct(value);
  if (product.others.size() != 1)
    return false;
  auto sum = product.others[0].getDefiningOp<nn::ReduceSumOp>();
  if (!sum || !overLast(sum.getInput(), sum.getDims()) ||
      !isClose(product.factor, 1.0 / double(shapeOf(sum.getInput()).back())))
    return false;
  x = skipFloatCasts(sum.getInput());
  return true;
}

Value raise::repeatedAlongLastDim(Value value) {
  value = skipFloatCasts(value);
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  if (broadcast) {
    ArrayRef<int64_t> from = shapeOf(broadcast.getInput()),
                      to = shapeOf(broadcast.getResult());
    if (from.drop_back() == to.drop_back() && from.back() == 1)
      return skipFloatCasts(broadcast.getInput());
    return Value();
  }
  // Last dim of size 1: nothing to repeat.
  return !shapeOf(value).empty() && shapeOf(value).back() == 1 ? value
                                                               : Value();
}

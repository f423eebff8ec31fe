// Elementwise ops, kernel body: what each does to one element. Scalars are
// float32, float64, integers or i1: the 16-bit floats are widened before and
// narrowed after.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc::nn;

namespace {
/// Scalar arithmetic at one place, on floats or integers alike.
struct Scalar {
  OpBuilder &builder;
  Location loc;
  /// Whether integers of 64 bits have no sign: those of fewer bits are widened,
  /// so that one with a sign holds them.
  bool isUnsigned = false;

  /// At `op`, whose first operand says what integers are.
  static Scalar at(OpBuilder &builder, Operation *op) {
    return {builder, op->getLoc(),
            elementTypeOf(op->getOperand(0)).isUnsignedInteger(64)};
  }

  Value constant(Value like, double value) {
    return KernelBuilder(builder, loc).constant(like.getType(), value);
  }
  template <typename OnFloats, typename OnInts> Value pick(Value x, Value y) {
    return isa<FloatType>(x.getType())
               ? Value(OnFloats::create(builder, loc, x, y))
               : Value(OnInts::create(builder, loc, x, y));
  }
  template <typename Op, typename... Operands>
  Value make(Operands... operands) {
    return Op::create(builder, loc, operands...);
  }
  Value add(Value x, Value y) {
    return pick<arith::AddFOp, arith::AddIOp>(x, y);
  }
  Value sub(Value x, Value y) {
    return pick<arith::SubFOp, arith::SubIOp>(x, y);
  }
  Value mul(Value x, Value y) {
    return pick<arith::MulFOp, arith::MulIOp>(x, y);
  }
  Value div(Value x, Value y) {
    return isa<FloatType>(x.getType()) ? make<arith::DivFOp>(x, y)
                                       : integerQuotient(x, y);
  }
  Value scale(Value x, double factor) { return mul(x, constant(x, factor)); }
  Value exp(Value x) { return make<math::ExpOp>(x); }
  /// factor * x + y.
  Value scaleAdd(Value x, double factor, double y) {
    return add(scale(x, factor), constant(x, y));
  }
  Value sigmoid(Value x) {
    Value one = constant(x, 1);
    return div(one, add(one, exp(make<arith::NegFOp>(x))));
  }
  Value select(Value condition, Value x, Value y) {
    return make<arith::SelectOp>(condition, x, y);
  }
  Value compare(CompareKind kind, Value x, Value y);
  /// y where integers can be divided by it on every processor, else 1: 0 has no
  /// quotient, and that of the lowest integer by -1 overflows.
  Value safeDivisor(Value y);
  /// x / y towards zero: 0 where y is 0, wrapping where y is -1.
  Value integerQuotient(Value x, Value y);
  /// The remainder of x / y: 0 where y is 0 or -1.
  Value integerRemainder(Value x, Value y) {
    return isUnsigned ? make<arith::RemUIOp>(x, safeDivisor(y))
                      : make<arith::RemSIOp>(x, safeDivisor(y));
  }
  template <typename OnFloats, typename OnInts, typename OnUnsigned>
  Value pickSigned(Value x, Value y) {
    return isUnsigned ? make<OnUnsigned>(x, y) : pick<OnFloats, OnInts>(x, y);
  }
  /// A float truncated to an integer that `type` holds: saturating, NaN to 0.
  Value truncated(Value x, Type type);
  /// x ^ y by squaring, wrapping.
  Value integerPower(Value x, Value y);
  Value integerPower(Value x, int64_t exponent);
  /// The remainder r of x / y with the sign of x, moved to the sign of y.
  Value withSignOf(Value remainder, Value y) {
    Value zero = constant(y, 0);
    Value differs =
        make<arith::XOrIOp>(compare(CompareKind::lt, remainder, zero),
                            compare(CompareKind::lt, y, zero));
    Value moves =
        make<arith::AndIOp>(compare(CompareKind::ne, remainder, zero), differs);
    return select(moves, add(remainder, y), remainder);
  }
  /// tanh(sqrt(2/pi) (x + 0.044715 x^3)), of gelu's tanh form.
  Value geluTanh(Value x) {
    Value cubic = mul(x, scaleAdd(mul(x, x), 0.044715, 1));
    return make<math::TanhOp>(
        scale(cubic, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  }
  /// (1 + erf(x / sqrt 2)) / 2, the normal distribution.
  Value normal(Value x) {
    return scaleAdd(make<math::ErfOp>(scale(x, std::numbers::sqrt2 / 2)), 0.5,
                    0.5);
  }
};
} // namespace

Value Scalar::compare(CompareKind kind, Value x, Value y) {
  using arith::CmpFPredicate;
  using arith::CmpIPredicate;
  // In the order of CompareKind. Booleans order as 0 and 1, which i1's signed
  // order would reverse, and so do integers without a sign.
  static constexpr CmpFPredicate floats[] = {
      CmpFPredicate::OEQ, CmpFPredicate::UNE, CmpFPredicate::OLT,
      CmpFPredicate::OLE, CmpFPredicate::OGT, CmpFPredicate::OGE};
  static constexpr CmpIPredicate ints[] = {
      CmpIPredicate::eq,  CmpIPredicate::ne,  CmpIPredicate::slt,
      CmpIPredicate::sle, CmpIPredicate::sgt, CmpIPredicate::sge};
  static constexpr CmpIPredicate bools[] = {
      CmpIPredicate::eq,  CmpIPredicate::ne,  CmpIPredicate::ult,
      CmpIPredicate::ule, CmpIPredicate::ugt, CmpIPredicate::uge};
  const auto index = static_cast<size_t>(kind);
  if (isa<FloatType>(x.getType()))
    return make<arith::CmpFOp>(floats[index], x, y);
  return make<arith::CmpIOp>(
      isUnsigned || x.getType().isInteger(1) ? bools[index] : ints[index], x,
      y);
}

Value Scalar::safeDivisor(Value y) {
  Value unsafe = compare(CompareKind::eq, y, constant(y, 0));
  if (!isUnsigned)
    unsafe = make<arith::OrIOp>(unsafe,
                                compare(CompareKind::eq, y, constant(y, -1)));
  return select(unsafe, constant(y, 1), y);
}

Value Scalar::integerQuotient(Value x, Value y) {
  Value zero = constant(x, 0);
  Value quotient;
  if (isUnsigned) {
    quotient = make<arith::DivUIOp>(x, safeDivisor(y));
  } else {
    quotient = make<arith::DivSIOp>(x, safeDivisor(y));
    quotient = select(compare(CompareKind::eq, y, constant(y, -1)),
                      sub(zero, x), quotient);
  }
  return select(compare(CompareKind::eq, y, zero), zero, quotient);
}

Value Scalar::truncated(Value x, Type type) {
  const unsigned bits = type.getIntOrFloatBitWidth();
  const bool isUnsigned = type.isUnsignedInteger();
  Type computed = computeTypeOf(type);
  // Outside of it the conversion is undefined: processors differ.
  Value low = constant(x, isUnsigned ? 0 : -std::ldexp(1, bits - 1)),
        high = constant(x, std::ldexp(1, isUnsigned ? bits : bits - 1));
  Value isLow = compare(CompareKind::lt, x, low),
        isHigh = compare(CompareKind::ge, x, high);
  Value inside = make<arith::AndIOp>(compare(CompareKind::ge, x, low),
                                     compare(CompareKind::lt, x, high));
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(computed, value));
  };
  Value whole = select(inside, x, constant(x, 0));
  Value result =
      isUnsigned && bits == 64
          ? Value(arith::FPToUIOp::create(builder, loc, computed, whole))
          : Value(arith::FPToSIOp::create(builder, loc, computed, whole));
  result = select(isHigh, integer(highestInteger(type)), result);
  return select(isLow, integer(lowestInteger(type)), result);
}

Value Scalar::integerPower(Value x, int64_t exponent) {
  Value result;
  for (Value square = x;; square = mul(square, square)) {
    if (exponent & 1)
      result = result ? mul(result, square) : square;
    if ((exponent >>= 1) == 0)
      return result ? result : constant(x, 1);
  }
}

Value Scalar::integerPower(Value x, Value y) {
  const unsigned bits = x.getType().getIntOrFloatBitWidth() - !isUnsigned;
  Value zero = constant(x, 0), one = constant(x, 1), minusOne = constant(x, -1);
  Value result = one, square = x;
  for (unsigned bit = 0; bit < bits; ++bit) {
    auto mask = builder.getIntegerAttr(
        y.getType(), static_cast<int64_t>(uint64_t(1) << bit));
    Value taken =
        compare(CompareKind::ne,
                make<arith::AndIOp>(y, make<arith::ConstantOp>(cast<TypedAttr>(
                                           static_cast<Attribute>(mask)))),
                zero);
    result = select(taken, mul(result, square), result);
    if (bit + 1 < bits)
      square = mul(square, square);
  }
  if (isUnsigned)
    return result;
  // 1 / x^-y: of 1 and -1 alone it is not 0.
  Value isOdd = compare(CompareKind::ne, make<arith::AndIOp>(y, one), zero);
  Value inverse = select(compare(CompareKind::eq, x, minusOne),
                         select(isOdd, minusOne, one), zero);
  inverse = select(compare(CompareKind::eq, x, one), one, inverse);
  return select(compare(CompareKind::lt, y, zero), inverse, result);
}

//===----------------------------------------------------------------------===//
// Kernel body
//===----------------------------------------------------------------------===//

#define SHARDC_SCALAR(OP, FORMULA)                                             \
  Value OP::buildScalar(OpBuilder &builder, ValueRange x) {                    \
    Scalar s = Scalar::at(builder, getOperation());                            \
    return FORMULA;                                                            \
  }

SHARDC_SCALAR(ExpOp, s.exp(x[0]))
SHARDC_SCALAR(Expm1Op, s.make<math::ExpM1Op>(x[0]))
SHARDC_SCALAR(LogOp, s.make<math::LogOp>(x[0]))
SHARDC_SCALAR(SqrtOp, s.make<math::SqrtOp>(x[0]))
SHARDC_SCALAR(RsqrtOp, s.div(s.constant(x[0], 1), s.make<math::SqrtOp>(x[0])))
SHARDC_SCALAR(ReciprocalOp, s.div(s.constant(x[0], 1), x[0]))
SHARDC_SCALAR(SinOp, s.make<math::SinOp>(x[0]))
SHARDC_SCALAR(CosOp, s.make<math::CosOp>(x[0]))
SHARDC_SCALAR(AsinOp, s.make<math::AsinOp>(x[0]))
SHARDC_SCALAR(AcosOp, s.make<math::AcosOp>(x[0]))
SHARDC_SCALAR(AtanOp, s.make<math::AtanOp>(x[0]))
SHARDC_SCALAR(AsinhOp, s.make<math::AsinhOp>(x[0]))
SHARDC_SCALAR(AcoshOp, s.make<math::AcoshOp>(x[0]))
SHARDC_SCALAR(AtanhOp, s.make<math::AtanhOp>(x[0]))
SHARDC_SCALAR(TanhOp, s.make<math::TanhOp>(x[0]))
SHARDC_SCALAR(ErfOp, s.make<math::ErfOp>(x[0]))
SHARDC_SCALAR(SigmoidOp, s.sigmoid(x[0]))
// A NaN stays one: the comparison is false.
SHARDC_SCALAR(ReluOp,
              s.select(s.compare(CompareKind::lt, x[0], s.constant(x[0], 0)),
                       s.constant(x[0], 0), x[0]))
SHARDC_SCALAR(SiluOp, s.mul(x[0], s.sigmoid(x[0])))
SHARDC_SCALAR(FloorOp, s.make<math::FloorOp>(x[0]))
SHARDC_SCALAR(CeilOp, s.make<math::CeilOp>(x[0]))
SHARDC_SCALAR(AddOp, s.add(x[0], x[1]))
SHARDC_SCALAR(SubOp, s.sub(x[0], x[1]))
SHARDC_SCALAR(MulOp, s.mul(x[0], x[1]))
SHARDC_SCALAR(DivOp, s.div(x[0], x[1]))
SHARDC_SCALAR(MaxOp,
              (s.pickSigned<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(
                  x[0], x[1])))
SHARDC_SCALAR(MinOp,
              (s.pickSigned<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(
                  x[0], x[1])))
SHARDC_SCALAR(NotOp, s.make<arith::XOrIOp>(x[0], s.constant(x[0], 1)))
SHARDC_SCALAR(AndOp, s.make<arith::AndIOp>(x[0], x[1]))
SHARDC_SCALAR(OrOp, s.make<arith::OrIOp>(x[0], x[1]))
SHARDC_SCALAR(XorOp, s.make<arith::XOrIOp>(x[0], x[1]))
SHARDC_SCALAR(CompareOp, s.compare(getKind(), x[0], x[1]))
SHARDC_SCALAR(IsNanOp,
              s.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]))
SHARDC_SCALAR(SelectOp, s.select(x[0], x[1], x[2]))
#undef SHARDC_SCALAR

Value NegOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s{builder, getLoc()};
  return isa<FloatType>(x[0].getType()) ? s.make<arith::NegFOp>(x[0])
                                        : s.sub(s.constant(x[0], 0), x[0]);
}

Value AbsOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s = Scalar::at(builder, getOperation());
  if (s.isUnsigned)
    return x[0];
  return isa<FloatType>(x[0].getType()) ? s.make<math::AbsFOp>(x[0])
                                        : s.make<math::AbsIOp>(x[0]);
}

// Every step is exact. The comparisons with what an infinity or a NaN leaves
// behind the point are false.
Value RoundOp::buildScalar(OpBuilder &builder, ValueRange operands) {
  Scalar s{builder, getLoc()};
  Value x = operands[0], zero = s.constant(x, 0), half = s.constant(x, 0.5);
  Value below = s.make<math::FloorOp>(x),
        above = s.add(below, s.constant(x, 1));
  Value rest = s.sub(x, below), halved = s.mul(below, half);
  Value isOdd =
      s.compare(CompareKind::ne, halved, s.make<math::FloorOp>(halved));
  Value isTie = s.compare(CompareKind::eq, rest, half);
  Value goesUp = s.make<arith::OrIOp>(s.compare(CompareKind::gt, rest, half),
                                      s.make<arith::AndIOp>(isTie, isOdd));
  Value result = s.select(goesUp, above, below);
  return s.select(s.compare(CompareKind::eq, result, zero), s.mul(x, zero),
                  result);
}

Value SoftplusOp::buildScalar(OpBuilder &builder, ValueRange operands) {
  Scalar s{builder, getLoc()};
  Value x = operands[0], zero = s.constant(x, 0);
  Value positive = s.select(s.compare(CompareKind::lt, x, zero), zero, x);
  Value decay = s.exp(s.make<arith::NegFOp>(s.make<math::AbsFOp>(x)));
  return s.add(positive, s.make<math::Log1pOp>(decay));
}

Value GeluOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s{builder, getLoc()};
  if (!getTanh())
    return s.mul(x[0], s.normal(x[0]));
  return s.mul(x[0], s.scaleAdd(s.geluTanh(x[0]), 0.5, 0.5));
}

Value GeluGradOp::buildScalar(OpBuilder &builder, ValueRange operands) {
  Scalar s{builder, getLoc()};
  Value x = operands[0], dy = operands[1], square = s.mul(x, x);
  if (!getTanh()) {
    Value density = s.scale(s.exp(s.scale(square, -0.5)),
                            std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
    return s.mul(dy, s.add(s.normal(x), s.mul(x, density)));
  }
  // Far out the slope is 0 times x^2, which must not be infinite.
  Value largest = s.constant(x, 1e30);
  square =
      s.select(s.compare(CompareKind::gt, square, largest), largest, square);
  Value t = s.geluTanh(x);
  Value inner = s.scale(s.scaleAdd(square, 3 * 0.044715, 1),
                        std::numbers::sqrt2 * std::numbers::inv_sqrtpi / 2);
  Value slope = s.mul(s.mul(x, s.sub(s.constant(x, 1), s.mul(t, t))), inner);
  return s.mul(dy, s.add(s.scaleAdd(t, 0.5, 0.5), slope));
}

Value SiluGradOp::buildScalar(OpBuilder &builder, ValueRange operands) {
  Scalar s{builder, getLoc()};
  Value x = operands[0], sigmoid = s.sigmoid(x), one = s.constant(x, 1);
  return s.mul(operands[1],
               s.mul(sigmoid, s.add(one, s.mul(x, s.sub(one, sigmoid)))));
}

Value PowOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s = Scalar::at(builder, getOperation());
  // Squares and roots are what models mean by most powers; libm's pow is twenty
  // times as slow.
  DenseElementsAttr exponent;
  const bool isConstant = matchPattern(getRhs(), m_Constant(&exponent));
  if (!isa<FloatType>(x[0].getType())) {
    if (isConstant && exponent.isSplat() && !exponent.empty())
      if (const int64_t power =
              HostTensor::fromAttribute(exponent).intAt(int64_t(0));
          power >= 0)
        return s.integerPower(x[0], power);
    return s.integerPower(x[0], x[1]);
  }
  if (isConstant) {
    if (isSplatOf(exponent, 2))
      return s.mul(x[0], x[0]);
    if (isSplatOf(exponent, 3))
      return s.mul(x[0], s.mul(x[0], x[0]));
    if (isSplatOf(exponent, 1))
      return x[0];
  }
  return s.make<math::PowFOp>(x[0], x[1]);
}

Value ModOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s = Scalar::at(builder, getOperation());
  Value remainder = isa<FloatType>(x[0].getType())
                        ? s.make<arith::RemFOp>(x[0], x[1])
                        : s.integerRemainder(x[0], x[1]);
  return getFmod() || s.isUnsigned ? remainder : s.withSignOf(remainder, x[1]);
}

// Scalars of 16 bits are floats of 32, of which they are the upper half, or a
// rounding; integers without a sign are wider, too.
Value BitcastOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Type from = elementTypeOf(getInput()), to = elementTypeOf(getResult());
  const unsigned width = from.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  Value value = x[0];
  if (isa<FloatType>(from)) {
    value = arith::BitcastOp::create(
        builder, getLoc(), bits, convertFloat(builder, getLoc(), value, from));
    Type computed = computeTypeOf(to);
    return computed == bits ? value
                            : Value(arith::ExtUIOp::create(builder, getLoc(),
                                                           computed, value));
  }
  if (value.getType() != bits)
    value = arith::TruncIOp::create(builder, getLoc(), bits, value);
  return convertFloat(builder, getLoc(),
                      arith::BitcastOp::create(builder, getLoc(), to, value),
                      computeTypeOf(to));
}

Value CastOp::buildScalar(OpBuilder &builder, ValueRange x) {
  Scalar s = Scalar::at(builder, getOperation());
  Type from = x[0].getType(), to = computeTypeOf(elementTypeOf(getResult()));
  if (from == to)
    return x[0];
  if (to.isInteger(1))
    return s.compare(CompareKind::ne, x[0], s.constant(x[0], 0));
  // Floats are converted where they are stored: from float64 to 16 bits in one
  // step, rounded once.
  if (isa<FloatType>(from))
    return isa<FloatType>(to) ? x[0]
                              : s.truncated(x[0], elementTypeOf(getResult()));
  if (isa<FloatType>(to))
    return s.isUnsigned || from.isInteger(1)
               ? Value(arith::UIToFPOp::create(builder, getLoc(), to, x[0]))
               : Value(arith::SIToFPOp::create(builder, getLoc(), to, x[0]));
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, getLoc(), to, x[0]);
  return from.isInteger(1)
             ? Value(arith::ExtUIOp::create(builder, getLoc(), to, x[0]))
             : Value(arith::ExtSIOp::create(builder, getLoc(), to, x[0]));
}

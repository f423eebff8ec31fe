// Ops that map elements to elements. What they do to one element in a kernel:
// ElementwiseKernels.cpp.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/Matchers.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return isSplatOf(adaptor.getLhs(), 0) ? OpFoldResult(getRhs())
                                        : OpFoldResult();
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 0) ? OpFoldResult(getLhs())
                                        : OpFoldResult();
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  return isSplatOf(adaptor.getLhs(), 1) ? OpFoldResult(getRhs())
                                        : OpFoldResult();
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 1) ? OpFoldResult(getLhs())
                                        : OpFoldResult();
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isSplatOf(adaptor.getCondition(), 1))
    return getLhs();
  return isSplatOf(adaptor.getCondition(), 0) ? OpFoldResult(getRhs())
                                              : OpFoldResult();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return foldMove(adaptor.getInput(), getResult(),
                  [&](const HostTensor &input) {
                    return castTo(input, elementTypeOf(getResult()));
                  });
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// 1 - x^2, exact also where it is near 0.
static Value oneLessSquare(Formula &f, Value x) {
  Value one = f.constant(x, 1);
  return f.mul(f.sub(one, x), f.add(one, x));
}

/// Unary ops: the gradient is one formula of dy.
#define SHARDC_UNARY_GRADIENT(OP, FORMULA)                                     \
  LogicalResult OP::differentiate(                                             \
      OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,   \
      SmallVectorImpl<Value> &operandGradients) {                              \
    Formula f(builder, getLoc());                                              \
    Value x = getInput(), y = getResult(), dy = resultGradients[0];            \
    (void)x, (void)y, (void)dy;                                                \
    operandGradients.push_back(FORMULA);                                       \
    return success();                                                          \
  }

SHARDC_UNARY_GRADIENT(NegOp, f.neg(dy))
SHARDC_UNARY_GRADIENT(ExpOp, f.mul(dy, y))
// Not dy (y + 1): far below 0, y is -1 with no digit of the slope left.
SHARDC_UNARY_GRADIENT(Expm1Op, f.mul(dy, f.exp(x)))
SHARDC_UNARY_GRADIENT(LogOp, f.div(dy, x))
SHARDC_UNARY_GRADIENT(SqrtOp, f.div(f.scale(dy, 0.5), y))
SHARDC_UNARY_GRADIENT(RsqrtOp, f.mul(f.scale(dy, -0.5), f.mul(y, f.mul(y, y))))
SHARDC_UNARY_GRADIENT(ReciprocalOp, f.neg(f.mul(dy, f.mul(y, y))))
SHARDC_UNARY_GRADIENT(SinOp, f.mul(dy, f.cos(x)))
SHARDC_UNARY_GRADIENT(CosOp, f.neg(f.mul(dy, f.sin(x))))
SHARDC_UNARY_GRADIENT(AsinOp, f.div(dy, f.sqrt(oneLessSquare(f, x))))
SHARDC_UNARY_GRADIENT(AcosOp, f.neg(f.div(dy, f.sqrt(oneLessSquare(f, x)))))
SHARDC_UNARY_GRADIENT(AtanOp, f.div(dy, f.add(f.mul(x, x), f.constant(x, 1))))
SHARDC_UNARY_GRADIENT(AsinhOp,
                      f.div(dy, f.sqrt(f.add(f.mul(x, x), f.constant(x, 1)))))
SHARDC_UNARY_GRADIENT(AcoshOp, f.div(dy, f.sqrt(f.neg(oneLessSquare(f, x)))))
SHARDC_UNARY_GRADIENT(AtanhOp, f.div(dy, oneLessSquare(f, x)))
SHARDC_UNARY_GRADIENT(TanhOp, f.mul(dy, f.sub(f.constant(y, 1), f.mul(y, y))))
SHARDC_UNARY_GRADIENT(ErfOp, f.mul(dy, f.scale(f.exp(f.neg(f.mul(x, x))),
                                               2 * std::numbers::inv_sqrtpi)))
SHARDC_UNARY_GRADIENT(SigmoidOp,
                      f.mul(dy, f.mul(y, f.sub(f.constant(y, 1), y))))
SHARDC_UNARY_GRADIENT(ReluOp,
                      f.select(f.compare(CompareKind::gt, x, f.constant(x, 0)),
                               dy, f.constant(dy, 0)))
SHARDC_UNARY_GRADIENT(SiluOp, SiluGradOp::create(builder, getLoc(),
                                                 dy.getType(), x, dy))
SHARDC_UNARY_GRADIENT(SoftplusOp, f.mul(dy, f.sigmoid(x)))
SHARDC_UNARY_GRADIENT(GeluOp,
                      GeluGradOp::create(builder, getLoc(), dy.getType(), x, dy,
                                         getTanh()))
// Constant almost everywhere.
SHARDC_UNARY_GRADIENT(FloorOp, Value())
SHARDC_UNARY_GRADIENT(CeilOp, Value())
SHARDC_UNARY_GRADIENT(RoundOp, Value())
#undef SHARDC_UNARY_GRADIENT

LogicalResult AbsOp::differentiate(OpBuilder &builder,
                                   ValueRange resultGradients, ArrayRef<bool>,
                                   SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  Value x = getInput(), dy = resultGradients[0], zero = f.constant(x, 0);
  Value negative =
      f.select(f.compare(CompareKind::lt, x, zero), f.neg(dy), zero);
  operandGradients.push_back(
      f.select(f.compare(CompareKind::gt, x, zero), dy, negative));
  return success();
}

LogicalResult CastOp::differentiate(OpBuilder &builder,
                                    ValueRange resultGradients, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &operandGradients) {
  Type from = elementTypeOf(getInput());
  operandGradients.push_back(
      isa<FloatType>(from)
          ? Formula(builder, getLoc()).cast(resultGradients[0], from)
          : Value());
  return success();
}

/// Binary ops: one formula of dy per operand.
#define SHARDC_BINARY_GRADIENT(OP, LHS, RHS)                                   \
  LogicalResult OP::differentiate(                                             \
      OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,   \
      SmallVectorImpl<Value> &operandGradients) {                              \
    Formula f(builder, getLoc());                                              \
    Value x = getLhs(), y = getRhs(), z = getResult(),                         \
          dz = resultGradients[0];                                             \
    (void)x, (void)y, (void)z;                                                 \
    operandGradients.push_back(needed[0] ? Value(LHS) : Value());              \
    operandGradients.push_back(needed[1] ? Value(RHS) : Value());              \
    return success();                                                          \
  }

/// dz where `order` holds between x and y, half of it at a tie, else 0.
static Value shareOf(Formula &f, CompareKind order, Value x, Value y,
                     Value dz) {
  Value tied = f.select(f.compare(CompareKind::eq, x, y), f.scale(dz, 0.5),
                        f.constant(dz, 0));
  return f.select(f.compare(order, x, y), dz, tied);
}

/// y x^(y-1); 0 for y = 0, where 0^-1 would make it NaN.
static Value powerRule(Formula &f, Value x, Value y, Value dz) {
  DenseElementsAttr exponent;
  if (matchPattern(y, m_Constant(&exponent)) && isSplatOf(exponent, 2))
    return f.mul(dz, f.scale(x, 2));
  Value slope = f.mul(y, f.pow(x, f.sub(y, f.constant(y, 1))));
  Value isZero = f.compare(CompareKind::eq, y, f.constant(y, 0));
  return f.select(isZero, f.constant(dz, 0), f.mul(dz, slope));
}

/// x^y log x; 0 for x = 0 and y >= 0, where log x would make it NaN.
static Value exponentRule(Formula &f, Value x, Value y, Value z, Value dz) {
  Value zero = f.constant(x, 0);
  Value flat = f.logicalAnd(f.compare(CompareKind::eq, x, zero),
                            f.compare(CompareKind::ge, y, zero));
  return f.select(flat, zero, f.mul(dz, f.mul(z, f.log(x))));
}

SHARDC_BINARY_GRADIENT(AddOp, dz, dz)
SHARDC_BINARY_GRADIENT(SubOp, dz, f.neg(dz))
SHARDC_BINARY_GRADIENT(MulOp, f.mul(dz, y), f.mul(dz, x))
SHARDC_BINARY_GRADIENT(DivOp, f.div(dz, y), f.neg(f.div(f.mul(dz, z), y)))
SHARDC_BINARY_GRADIENT(PowOp, powerRule(f, x, y, dz),
                       exponentRule(f, x, y, z, dz))
SHARDC_BINARY_GRADIENT(MaxOp, shareOf(f, CompareKind::gt, x, y, dz),
                       shareOf(f, CompareKind::gt, y, x, dz))
SHARDC_BINARY_GRADIENT(MinOp, shareOf(f, CompareKind::lt, x, y, dz),
                       shareOf(f, CompareKind::lt, y, x, dz))
// z = x - q y with a whole number q.
SHARDC_BINARY_GRADIENT(ModOp, dz, f.neg(f.mul(dz, f.div(f.sub(x, z), y))))
#undef SHARDC_BINARY_GRADIENT

LogicalResult
SelectOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  Value dz = resultGradients[0], zero = f.constant(dz, 0);
  operandGradients.push_back(Value());
  operandGradients.push_back(needed[1] ? f.select(getCondition(), dz, zero)
                                       : Value());
  operandGradients.push_back(needed[2] ? f.select(getCondition(), zero, dz)
                                       : Value());
  return success();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Of gelu's tanh form. Its slope is 0 times x^2 far out, where that would be
// infinite: squares are bounded there.
static constexpr double geluLargestSquare = 1e30;
static constexpr double geluCubic = 0.044715;
static constexpr double geluScale =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

using Arguments = ArrayRef<double>;
using Ints = ArrayRef<int64_t>;

double ExpOp::compute(Arguments x) { return std::exp(x[0]); }
double Expm1Op::compute(Arguments x) { return std::expm1(x[0]); }
double LogOp::compute(Arguments x) { return std::log(x[0]); }
double SqrtOp::compute(Arguments x) { return std::sqrt(x[0]); }
double RsqrtOp::compute(Arguments x) { return 1 / std::sqrt(x[0]); }
double ReciprocalOp::compute(Arguments x) { return 1 / x[0]; }
double SinOp::compute(Arguments x) { return std::sin(x[0]); }
double CosOp::compute(Arguments x) { return std::cos(x[0]); }
double AsinOp::compute(Arguments x) { return std::asin(x[0]); }
double AcosOp::compute(Arguments x) { return std::acos(x[0]); }
double AtanOp::compute(Arguments x) { return std::atan(x[0]); }
double AsinhOp::compute(Arguments x) { return std::asinh(x[0]); }
double AcoshOp::compute(Arguments x) { return std::acosh(x[0]); }
double AtanhOp::compute(Arguments x) { return std::atanh(x[0]); }
double TanhOp::compute(Arguments x) { return std::tanh(x[0]); }
double ErfOp::compute(Arguments x) { return std::erf(x[0]); }
double SigmoidOp::compute(Arguments x) { return sigmoid(x[0]); }
double ReluOp::compute(Arguments x) { return x[0] < 0 ? 0 : x[0]; }
double SiluOp::compute(Arguments x) { return x[0] * sigmoid(x[0]); }
double SoftplusOp::compute(Arguments x) {
  return (x[0] < 0 ? 0 : x[0]) + std::log1p(std::exp(-std::abs(x[0])));
}
double FloorOp::compute(Arguments x) { return std::floor(x[0]); }
double CeilOp::compute(Arguments x) { return std::ceil(x[0]); }
double RoundOp::compute(Arguments x) { return std::nearbyint(x[0]); }

double GeluOp::compute(Arguments operands) {
  const double x = operands[0];
  if (getTanh())
    return x / 2 * (1 + std::tanh(geluScale * (x + geluCubic * x * x * x)));
  return x / 2 * (1 + std::erf(x * std::numbers::sqrt2 / 2));
}

double GeluGradOp::compute(Arguments operands) {
  const double x = operands[0], dy = operands[1];
  if (getTanh()) {
    const double t = std::tanh(geluScale * (x + geluCubic * x * x * x));
    const double square = std::min(x * x, geluLargestSquare);
    return dy * ((1 + t) / 2 + x / 2 * (1 - t * t) * geluScale *
                                   (1 + 3 * geluCubic * square));
  }
  const double density =
      std::exp(-x * x / 2) * std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
  return dy * ((1 + std::erf(x * std::numbers::sqrt2 / 2)) / 2 + x * density);
}

double SiluGradOp::compute(Arguments operands) {
  const double x = operands[0], s = sigmoid(x);
  return operands[1] * s * (1 + x * (1 - s));
}

double NegOp::compute(Arguments x) { return -x[0]; }
double AbsOp::compute(Arguments x) { return std::abs(x[0]); }
double AddOp::compute(Arguments x) { return x[0] + x[1]; }
double SubOp::compute(Arguments x) { return x[0] - x[1]; }
double MulOp::compute(Arguments x) { return x[0] * x[1]; }
double DivOp::compute(Arguments x) { return x[0] / x[1]; }
double PowOp::compute(Arguments x) { return std::pow(x[0], x[1]); }
double MaxOp::compute(Arguments x) {
  return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1];
}
double MinOp::compute(Arguments x) {
  return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1];
}
double ModOp::compute(Arguments x) {
  const double remainder = std::fmod(x[0], x[1]);
  return !getFmod() && remainder != 0 && (remainder < 0) != (x[1] < 0)
             ? remainder + x[1]
             : remainder;
}

// Integers wrap, as they do on the machine: unsigned arithmetic has no
// undefined overflow.
static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t NegOp::compute(Ints x) { return wrap(-static_cast<uint64_t>(x[0])); }
int64_t AbsOp::compute(Ints x) {
  return x[0] < 0 && !isUInt64(getInput()) ? wrap(-static_cast<uint64_t>(x[0]))
                                           : x[0];
}
int64_t AddOp::compute(Ints x) {
  return wrap(static_cast<uint64_t>(x[0]) + static_cast<uint64_t>(x[1]));
}
int64_t SubOp::compute(Ints x) {
  return wrap(static_cast<uint64_t>(x[0]) - static_cast<uint64_t>(x[1]));
}
int64_t MulOp::compute(Ints x) {
  return wrap(static_cast<uint64_t>(x[0]) * static_cast<uint64_t>(x[1]));
}
/// Of integers as an op's type has them: whether x comes before y.
static bool isLess(Value of, int64_t x, int64_t y) {
  return isUInt64(of) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y)
                      : x < y;
}
int64_t MaxOp::compute(Ints x) {
  return isLess(getLhs(), x[0], x[1]) ? x[1] : x[0];
}
int64_t MinOp::compute(Ints x) {
  return isLess(getLhs(), x[0], x[1]) ? x[0] : x[1];
}

// By zero: what ONNX's reference and numpy give. No kernel can raise an error.
int64_t DivOp::compute(Ints x) {
  if (x[1] == 0)
    return 0;
  if (isUInt64(getLhs()))
    return wrap(static_cast<uint64_t>(x[0]) / static_cast<uint64_t>(x[1]));
  return x[1] == -1 ? wrap(-static_cast<uint64_t>(x[0])) : x[0] / x[1];
}

int64_t ModOp::compute(Ints x) {
  if (x[1] == 0)
    return 0;
  if (isUInt64(getLhs()))
    return wrap(static_cast<uint64_t>(x[0]) % static_cast<uint64_t>(x[1]));
  const int64_t remainder = x[1] == -1 ? 0 : x[0] % x[1];
  return !getFmod() && remainder != 0 && (remainder < 0) != (x[1] < 0)
             ? remainder + x[1]
             : remainder;
}

int64_t PowOp::compute(Ints x) {
  uint64_t base = x[0], result = 1;
  if (x[1] < 0 && !isUInt64(getLhs()))
    return x[0] == 1 ? 1 : x[0] == -1 ? (x[1] % 2 ? -1 : 1) : 0;
  for (uint64_t exponent = x[1]; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return wrap(result);
}

bool NotOp::compute(Ints x) { return !x[0]; }
int64_t AndOp::compute(Ints x) { return x[0] & x[1]; }
int64_t OrOp::compute(Ints x) { return x[0] | x[1]; }
int64_t XorOp::compute(Ints x) { return x[0] ^ x[1]; }

template <typename T> static bool compares(CompareKind kind, ArrayRef<T> x) {
  switch (kind) {
  case CompareKind::eq:
    return x[0] == x[1];
  case CompareKind::ne:
    return x[0] != x[1];
  case CompareKind::lt:
    return x[0] < x[1];
  case CompareKind::le:
    return x[0] <= x[1];
  case CompareKind::gt:
    return x[0] > x[1];
  case CompareKind::ge:
    return x[0] >= x[1];
  }
  llvm_unreachable("all kinds are listed");
}

LogicalResult CompareOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  const CompareKind kind = getKind();
  auto type = tensorType(getResult());
  if (operands[0].isFloat())
    results.push_back(
        mapFloatsToInts(type, operands, [&](Arguments x) -> int64_t {
          return compares(kind, x);
        }));
  else if (isUInt64(getLhs()))
    results.push_back(mapInts(type, operands, [&](Ints x) -> int64_t {
      const uint64_t bits[] = {uint64_t(x[0]), uint64_t(x[1])};
      return compares<uint64_t>(kind, bits);
    }));
  else
    results.push_back(mapInts(
        type, operands, [&](Ints x) -> int64_t { return compares(kind, x); }));
  return success();
}

LogicalResult IsNanOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  results.push_back(
      mapFloatsToInts(tensorType(getResult()), operands,
                      [](Arguments x) -> int64_t { return std::isnan(x[0]); }));
  return success();
}

LogicalResult SelectOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  results.push_back(
      operands[1].isFloat()
          ? mapFloats(type, operands,
                      [](Arguments x) { return x[0] ? x[1] : x[2]; })
          : mapInts(type, operands, [](Ints x) { return x[0] ? x[1] : x[2]; }));
  return success();
}

LogicalResult BitcastOp::verify() {
  Type from = elementTypeOf(getInput()), to = elementTypeOf(getResult());
  if (isa<FloatType>(from) == isa<FloatType>(to))
    return emitOpError("expects a float type and an integer type, got ")
           << from << " and " << to;
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("expects types of one width, got ")
           << from << " and " << to;
  return success();
}

LogicalResult BitcastOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  const HostTensor &input = operands[0];
  auto type = tensorType(getResult());
  if (input.isFloat()) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(input.elementType()).getFloatSemantics();
    results.push_back(mapFloatsToInts(type, input, [&](Arguments x) -> int64_t {
      llvm::APFloat value(x[0]);
      bool losesInfo;
      value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      return static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
    }));
    return success();
  }
  auto floating = cast<FloatType>(type.getElementType());
  HostTensor::Floats values;
  for (int64_t bits : input.toInts()) {
    llvm::APFloat value(
        floating.getFloatSemantics(),
        llvm::APInt(floating.getWidth(), static_cast<uint64_t>(bits),
                    /*isSigned=*/false, /*implicitTrunc=*/true));
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    values.push_back(value.convertToDouble());
  }
  results.push_back(HostTensor::floats(type, std::move(values)));
  return success();
}

LogicalResult CastOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  results.push_back(castTo(operands[0], elementTypeOf(getResult())));
  return success();
}

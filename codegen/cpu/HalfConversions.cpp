// Conversions between 16-bit floats and float32, as integer arithmetic on bits.
#include "codegen/cpu/HalfConversions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::cpu {

namespace {
/// Arithmetic on scalars or vectors of one shape.
struct Lanes {
  OpBuilder &builder;
  Location loc;
  /// The value whose shape all have.
  Value like;

  Type shaped(Type element) const {
    auto vector = dyn_cast<VectorType>(like.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Type i16() const { return shaped(builder.getI16Type()); }
  Type i32() const { return shaped(builder.getI32Type()); }
  Type f32() const { return shaped(builder.getF32Type()); }

  template <typename Op> Value make(Value x, Value y) {
    return Op::create(builder, loc, x, y);
  }
  Value number(uint32_t bits) {
    auto attribute = builder.getI32IntegerAttr(static_cast<int32_t>(bits));
    if (auto vector = dyn_cast<VectorType>(i32()))
      return arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(vector, attribute.getValue()));
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value plus(Value x, uint32_t y) { return make<arith::AddIOp>(x, number(y)); }
  Value minus(Value x, uint32_t y) { return make<arith::SubIOp>(x, number(y)); }
  Value masked(Value x, uint32_t mask) {
    return make<arith::AndIOp>(x, number(mask));
  }
  Value with(Value x, uint32_t bits) {
    return make<arith::OrIOp>(x, number(bits));
  }
  Value left(Value x, uint32_t by) {
    return make<arith::ShLIOp>(x, number(by));
  }
  Value right(Value x, uint32_t by) {
    return make<arith::ShRUIOp>(x, number(by));
  }
  Value bits(Value value, Type type) {
    return arith::BitcastOp::create(builder, loc, type, value);
  }
  Value compare(arith::CmpIPredicate order, Value x, uint32_t y) {
    return arith::CmpIOp::create(builder, loc, order, x, number(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(builder, loc, condition, x, y);
  }
  Value isNan(Value value) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value,
                                 value);
  }
  Value low16(Value word) {
    return arith::TruncIOp::create(builder, loc, i16(), word);
  }
  Value wide(Value half) {
    return arith::ExtUIOp::create(builder, loc, i32(), half);
  }
};
} // namespace

/// Adds, below the sixteen bits that stay, half a unit less one and the bit
/// that decides a tie: the carry rounds.
Value HalfConversions::bfloat16FromFloat32(Location loc, Value value) {
  Lanes of{builder, loc, value};
  Value word = of.bits(value, of.i32()), upper = of.right(word, 16);
  Value bias = of.plus(of.masked(upper, 1), 0x7fff);
  Value rounded = of.right(of.make<arith::AddIOp>(word, bias), 16);
  Value quiet = of.with(upper, 0x40);
  return of.low16(of.select(of.isNan(value), quiet, rounded));
}

Value HalfConversions::float32FromFloat16(Location loc, Value bits) {
  Lanes of{builder, loc, bits};
  if (hasF16C) {
    Value half = LLVM::BitcastOp::create(builder, loc,
                                         of.shaped(builder.getF16Type()), bits);
    return LLVM::FPExtOp::create(builder, loc, of.f32(), half);
  }
  // Exponent and mantissa go to float32's places; then the exponent's bias is
  // added, once more for infinity and NaN. A subnormal number is normalized by
  // subtracting the power of two that its bits were added to.
  constexpr uint32_t rebias = (127 - 15) << 23, top = 0x7c00 << 13;
  constexpr uint32_t smallest = 113 << 23;
  Value word = of.wide(bits);
  Value magnitude = of.left(of.masked(word, 0x7fff), 13);
  Value exponent = of.masked(magnitude, top);
  Value normal = of.plus(magnitude, rebias);
  Value infinite = of.plus(normal, rebias);
  Value subnormal = of.bits(
      of.make<arith::SubFOp>(of.bits(of.plus(normal, 1 << 23), of.f32()),
                             of.bits(of.number(smallest), of.f32())),
      of.i32());
  Value result =
      of.select(of.compare(arith::CmpIPredicate::eq, exponent, top), infinite,
                of.select(of.compare(arith::CmpIPredicate::eq, exponent, 0),
                          subnormal, normal));
  Value sign = of.left(of.masked(word, 0x8000), 16);
  return of.bits(of.make<arith::OrIOp>(result, sign), of.f32());
}

Value HalfConversions::float16FromFloat32(Location loc, Value value) {
  Lanes of{builder, loc, value};
  if (hasF16C) {
    Value half = LLVM::FPTruncOp::create(
        builder, loc, of.shaped(builder.getF16Type()), value);
    return LLVM::BitcastOp::create(builder, loc, of.i16(), half);
  }
  // There are three cases by magnitude: 2^16 and more (what rounds up to it
  // gets there by its carry), normal numbers, and those below 2^-14, where
  // adding 1/2 rounds at 2^-24.
  constexpr uint32_t rebias = (127 - 15) << 23, tooLarge = (127 + 16) << 23;
  constexpr uint32_t smallest = 113 << 23, oneHalf = 126 << 23;
  Value word = of.bits(value, of.i32());
  Value magnitude = of.masked(word, 0x7fffffff);
  Value odd = of.masked(of.right(magnitude, 13), 1);
  Value normal = of.right(
      of.make<arith::AddIOp>(of.minus(magnitude, rebias - 0xfff), odd), 13);
  Value shifted = of.make<arith::AddFOp>(of.bits(magnitude, of.f32()),
                                         of.bits(of.number(oneHalf), of.f32()));
  Value subnormal = of.minus(of.bits(shifted, of.i32()), oneHalf);
  Value nan = of.with(of.masked(of.right(magnitude, 13), 0x3ff), 0x7e00);
  Value finite = of.select(
      of.compare(arith::CmpIPredicate::ult, magnitude, smallest), subnormal,
      of.select(of.compare(arith::CmpIPredicate::ult, magnitude, tooLarge),
                normal, of.number(0x7c00)));
  Value result = of.select(of.isNan(value), nan, finite);
  Value sign = of.masked(of.right(word, 16), 0x8000);
  return of.low16(of.make<arith::OrIOp>(result, sign));
}

/// Rounds a float64 to odd: to a float32 that rounds on to 16 bits as the
/// float64 would. Where it is not exact, its last bit is set (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Value HalfConversions::roundToOdd(Location loc, Value value) {
  Lanes of{builder, loc, value};
  Value nearest = arith::TruncFOp::create(builder, loc, of.f32(), value);
  Value back = arith::ExtFOp::create(builder, loc, value.getType(), nearest);
  auto size = [&](Value x) { return math::AbsFOp::create(builder, loc, x); };
  auto compare = [&](arith::CmpFPredicate order, Value x, Value y) {
    return arith::CmpFOp::create(builder, loc, order, x, y);
  };
  Value word = of.bits(nearest, of.i32());
  Value even = of.compare(arith::CmpIPredicate::eq, of.masked(word, 1), 0);
  Value below = compare(arith::CmpFPredicate::OLT, size(back), size(value));
  Value above = compare(arith::CmpFPredicate::OGT, size(back), size(value));
  Value raised =
      of.select(of.make<arith::AndIOp>(even, below), of.plus(word, 1), word);
  Value odd =
      of.select(of.make<arith::AndIOp>(even, above), of.minus(word, 1), raised);
  return of.bits(odd, of.f32());
}

Value HalfConversions::widen(Location loc, Value bits, Type from, Type to) {
  Lanes of{builder, loc, bits};
  Value value = from.isBF16() ? of.bits(of.left(of.wide(bits), 16), of.f32())
                              : float32FromFloat16(loc, bits);
  return to.isF32()
             ? value
             : Value(arith::ExtFOp::create(builder, loc, of.shaped(to), value));
}

Value HalfConversions::round(Location loc, Value value, Type to) {
  if (getElementTypeOrSelf(value.getType()).isF64())
    value = roundToOdd(loc, value);
  return to.isBF16() ? bfloat16FromFloat32(loc, value)
                     : float16FromFloat32(loc, value);
}

} // namespace shardc::cpu

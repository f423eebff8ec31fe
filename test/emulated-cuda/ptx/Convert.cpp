// cvt, and how 16-bit floats are computed with: in float32, rounded once.
#include "Translate.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace shardc::test::ptx {

Value *Translation::floatOf(Value bits, StringRef type) {
  if (type == "f64")
    return builder.CreateBitCast(bits, builder.getDoubleTy());
  if (type == "f32")
    return builder.CreateBitCast(bits, builder.getFloatTy());
  if (type == "f16")
    return builder.CreateFPExt(builder.CreateBitCast(bits, builder.getHalfTy()),
                               builder.getFloatTy());
  Value wide = builder.CreateZExt(bits, builder.getInt32Ty());
  return builder.CreateBitCast(builder.CreateShl(wide, 16),
                               builder.getFloatTy());
}

Value *Translation::bitsOfFloat(Value number, StringRef type) {
  if (type == "bf16")
    return roundToBfloat(number);
  if (type == "f16")
    number = builder.CreateFPTrunc(number, builder.getHalfTy());
  return builder.CreateBitCast(number, builder.getIntNTy(bitsOf(type)));
}

/// To the nearest, ties to even; NaN is 0x7fff, as the instructions have it.
Value *Translation::roundToBfloat(Value number) {
  Value bits = builder.CreateBitCast(number, builder.getInt32Ty());
  Value odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value up =
      builder.CreateAdd(builder.CreateAdd(bits, odd), builder.getInt32(0x7fff));
  Value upper =
      builder.CreateTrunc(builder.CreateLShr(up, 16), builder.getInt16Ty());
  return builder.CreateSelect(builder.CreateFCmpUNO(number, number),
                              builder.getInt16(0x7fff), upper);
}

Value *Translation::roundToOdd(Value number) {
  Type *type = builder.getFloatTy(), *word = builder.getInt32Ty();
  Value near = builder.CreateFPTrunc(number, type);
  Value back = builder.CreateFPExt(near, number->getType());
  Value bits = builder.CreateBitCast(near, word);
  auto size = [&](Value of) {
    return builder.CreateUnaryIntrinsic(Intrinsic::fabs, of);
  };
  // An inexact result that is even lies beside an odd one, on the other side of
  // the number.
  Value move = builder.CreateAnd(
      builder.CreateFCmpONE(back, number),
      builder.CreateICmpEQ(builder.CreateAnd(bits, 1), builder.getInt32(0)));
  Value isBeyond = builder.CreateFCmpOGT(size(back), size(number));
  Value other = builder.CreateSelect(
      isBeyond, builder.CreateSub(bits, builder.getInt32(1)),
      builder.CreateAdd(bits, builder.getInt32(1)));
  return builder.CreateBitCast(builder.CreateSelect(move, other, bits), type);
}

/// To an integer, still as a float.
Value *Translation::rounded(Value number, const Instruction &of) {
  Intrinsic::ID id = of.has("rni")   ? Intrinsic::roundeven
                     : of.has("rzi") ? Intrinsic::trunc
                     : of.has("rmi") ? Intrinsic::floor
                     : of.has("rpi") ? Intrinsic::ceil
                                     : Intrinsic::not_intrinsic;
  return id == Intrinsic::not_intrinsic
             ? number
             : builder.CreateUnaryIntrinsic(id, number);
}

/// The highest 24 bits, the last of which says whether any below it is set: what
/// has fewer digits is rounded once (Boldo and Melquiond, Emulation of FMA and
/// correctly rounded sums: proved algorithms using rounding to odd, 2008).
Value *Translation::integerToFloat(Value integer, bool isSigned) {
  Type *wide = builder.getInt64Ty();
  Value value = isSigned ? builder.CreateSExt(integer, wide)
                         : builder.CreateZExt(integer, wide);
  Value negative = isSigned ? builder.CreateICmpSLT(value, builder.getInt64(0))
                            : builder.getFalse();
  Value size = builder.CreateSelect(negative, builder.CreateNeg(value), value);
  Value digits = builder.CreateSub(
      builder.getInt64(64),
      builder.CreateBinaryIntrinsic(Intrinsic::ctlz, size, builder.getFalse()));
  Value shift = builder.CreateBinaryIntrinsic(Intrinsic::usub_sat, digits,
                                              builder.getInt64(24));
  Value upper = builder.CreateLShr(size, shift);
  Value lost = builder.CreateICmpNE(builder.CreateShl(upper, shift), size);
  upper = builder.CreateOr(upper, builder.CreateZExt(lost, wide));
  Value number = builder.CreateUIToFP(upper, builder.getFloatTy());
  // A power of two, by its exponent.
  Value factor = builder.CreateBitCast(
      builder.CreateShl(
          builder.CreateTrunc(builder.CreateAdd(shift, builder.getInt64(127)),
                              builder.getInt32Ty()),
          23),
      builder.getFloatTy());
  number = builder.CreateFMul(number, factor);
  return builder.CreateSelect(negative, builder.CreateFNeg(number), number);
}

void Translation::convertPair(const Instruction &of) {
  // The first operand becomes the upper half.
  StringRef half = of.words[of.words.size() - 2];
  half = half.drop_back(2);
  if (of.type() != "f32" || of.operands.size() != 3 || !of.has("rn") ||
      of.has("relu"))
    return unknown(of, "");
  Value whole = builder.getInt32(0);
  for (unsigned i : {1u, 2u}) {
    Value bits =
        builder.CreateZExt(bitsOfFloat(readFloat(of.operands[i], "f32"), half),
                           builder.getInt32Ty());
    whole = builder.CreateOr(whole, builder.CreateShl(bits, i == 1 ? 16 : 0));
  }
  write(of.operands[0], whole);
}

void Translation::convert(const Instruction &of) {
  StringRef from = of.type(), to = of.words[of.words.size() - 2];
  if (to.ends_with("x2"))
    return convertPair(of);
  auto isFloat = [](StringRef type) { return type.contains('f'); };
  bool wrongRounding = of.has("rz") || of.has("rm") || of.has("rp");
  if (of.operands.size() != 2 || bitsOf(to) == 0 || bitsOf(from) == 0 ||
      of.has("sat") || wrongRounding)
    return unknown(of, "");
  StringRef result = of.operands[0], operand = of.operands[1];
  bool signedFrom = from.starts_with("s"), signedTo = to.starts_with("s");
  Type *toInteger = builder.getIntNTy(bitsOf(to));
  if (!isFloat(from) && !isFloat(to)) {
    Value value = read(operand, bitsOf(from));
    return write(result,
                 signedFrom ? builder.CreateSExtOrTrunc(value, toInteger)
                            : builder.CreateZExtOrTrunc(value, toInteger),
                 signedTo);
  }
  if (!isFloat(from)) {
    Value value = read(operand, bitsOf(from));
    if (bitsOf(to) == 16)
      return writeFloat(result, integerToFloat(value, signedFrom), to);
    Type *type = to == "f64" ? builder.getDoubleTy() : builder.getFloatTy();
    return writeFloat(result,
                      signedFrom ? builder.CreateSIToFP(value, type)
                                 : builder.CreateUIToFP(value, type),
                      to);
  }
  Value number = readFloat(operand, from);
  if (of.has("ftz"))
    number = flushed(number);
  number = rounded(number, of);
  if (!isFloat(to)) {
    // Beyond the ends: the ends; NaN: 0.
    Value value = builder.CreateIntrinsic(
        signedTo ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
        {toInteger, number->getType()}, {number});
    return write(result, value, signedTo);
  }
  if (to == "f64" && from != "f64")
    number = builder.CreateFPExt(number, builder.getDoubleTy());
  else if (from == "f64" && bitsOf(to) == 16)
    number = roundToOdd(number);
  else if (from == "f64" && to != "f64")
    number = builder.CreateFPTrunc(number, builder.getFloatTy());
  writeFloat(result, of.has("ftz") ? flushed(number) : number, to);
}

} // namespace shardc::test::ptx

// Arithmetic of integers and their bits.
#include "Translate.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace shardc::test::ptx {

/// mul and mad: the lower half, the upper half, or all of the product.
bool Translation::multiply(const Instruction &of) {
  if (of.name() != "mul" && of.name() != "mad")
    return false;
  unsigned bits = bitsOf(of.type());
  bool isSigned = isSignedType(of.type()), wide = of.has("wide");
  Type *twice = builder.getIntNTy(2 * bits);
  auto extended = [&](StringRef operand) {
    Value value = read(operand, bits);
    return isSigned ? builder.CreateSExt(value, twice)
                    : builder.CreateZExt(value, twice);
  };
  Value product =
      builder.CreateMul(extended(of.operands[1]), extended(of.operands[2]));
  if (of.has("hi"))
    product = builder.CreateLShr(product, bits);
  else if (!of.has("lo") && !wide)
    return false;
  if (!wide)
    product = builder.CreateTrunc(product, builder.getIntNTy(bits));
  if (of.name() == "mad")
    product = builder.CreateAdd(
        product,
        read(of.operands[3], product->getType()->getIntegerBitWidth()));
  write(of.operands[0], product, isSigned);
  return true;
}

/// add, sub, mad with .cc, which write the carry, and addc, subc, madc, which
/// add it (PTX ISA, 9.7.2). That of a difference is what was borrowed.
bool Translation::carrying(const Instruction &of) {
  StringRef name = of.name();
  bool takes = name.ends_with("c");
  StringRef base = takes ? name.drop_back() : name;
  if ((!takes && !of.has("cc")) ||
      (base != "add" && base != "sub" && base != "mad"))
    return false;
  unsigned bits = bitsOf(of.type());
  Type *type = builder.getIntNTy(bits), *wide = builder.getIntNTy(2 * bits + 8);
  auto extended = [&](Value value) { return builder.CreateZExt(value, wide); };
  Value a = read(of.operands[1], bits), b = read(of.operands[2], bits);
  if (base == "mad") {
    bool isSigned = isSignedType(of.type());
    Value product = isSigned ? builder.CreateMul(builder.CreateSExt(a, wide),
                                                 builder.CreateSExt(b, wide))
                             : builder.CreateMul(extended(a), extended(b));
    a = builder.CreateTrunc(
        of.has("hi") ? builder.CreateLShr(product, bits) : product, type);
    b = read(of.operands[3], bits);
  }
  Value in = builder.getFalse();
  if (takes)
    in = builder.CreateLoad(builder.getInt1Ty(), carry);
  Value rest = builder.CreateAdd(extended(b), extended(in));
  Value sum = base == "sub" ? builder.CreateSub(extended(a), rest)
                            : builder.CreateAdd(extended(a), rest);
  if (of.has("cc"))
    builder.CreateStore(
        builder.CreateTrunc(builder.CreateLShr(sum, bits), builder.getInt1Ty()),
        carry);
  write(of.operands[0], builder.CreateTrunc(sum, type));
  return true;
}

/// shf: 32 bits of the pair (b, a), shifted.
bool Translation::funnelShift(const Instruction &of) {
  if (of.name() != "shf" || of.type() != "b32" || !of.has("wrap"))
    return false;
  write(of.operands[0], builder.CreateIntrinsic(
                            of.has("l") ? Intrinsic::fshl : Intrinsic::fshr,
                            {builder.getInt32Ty()},
                            {read(of.operands[2], 32), read(of.operands[1], 32),
                             read(of.operands[3], 32)}));
  return true;
}

/// A shift by more than all bits leaves zeros, or the sign.
bool Translation::shift(const Instruction &of) {
  if (of.name() != "shl" && of.name() != "shr")
    return false;
  unsigned bits = bitsOf(of.type());
  Value value = read(of.operands[1], bits), by = read(of.operands[2], 32);
  bool arithmetic = of.name() == "shr" && isSignedType(of.type());
  Value most = builder.getInt32(bits - 1);
  Value fits = builder.CreateICmpULE(by, most);
  Value amount = builder.CreateZExtOrTrunc(builder.CreateSelect(fits, by, most),
                                           value->getType());
  Value result;
  if (arithmetic)
    result = builder.CreateAShr(value, amount);
  else
    result = builder.CreateSelect(fits,
                                  of.name() == "shl"
                                      ? builder.CreateShl(value, amount)
                                      : builder.CreateLShr(value, amount),
                                  ConstantInt::get(value->getType(), 0));
  write(of.operands[0], result, arithmetic);
  return true;
}

/// bfe: `length` bits from `begin` on; both are bytes. What is beyond the end is
/// zeros, or the sign (PTX ISA, 9.7.1.20).
Value *Translation::bitField(Value value, const Instruction &of) {
  Type *type = value->getType();
  unsigned bits = type->getIntegerBitWidth();
  bool isSigned = isSignedType(of.type());
  auto number = [&](unsigned of) { return ConstantInt::get(type, of); };
  auto most = [&](Value count, unsigned limit) {
    return builder.CreateBinaryIntrinsic(Intrinsic::umin, count, number(limit));
  };
  auto byte = [&](StringRef operand) {
    return builder.CreateZExtOrTrunc(builder.CreateAnd(read(operand, 32), 255),
                                     type);
  };
  Value begin = byte(of.operands[2]), length = byte(of.operands[3]);
  Value from = isSigned ? builder.CreateAShr(value, most(begin, bits - 1))
                        : builder.CreateLShr(value, most(begin, bits - 1));
  if (!isSigned)
    from = builder.CreateSelect(builder.CreateICmpULT(begin, number(bits)),
                                from, number(0));
  Value unused = builder.CreateSub(number(bits), most(length, bits));
  Value amount = most(unused, bits - 1);
  Value up = builder.CreateShl(from, amount);
  Value field = isSigned ? builder.CreateAShr(up, amount)
                         : builder.CreateLShr(up, amount);
  return builder.CreateSelect(builder.CreateICmpEQ(length, number(0)),
                              number(0), field);
}

/// bfi, brev, lop3 and prmt: bits that are put together.
bool Translation::bitArithmetic(const Instruction &of) {
  StringRef name = of.name();
  unsigned bits = bitsOf(of.type());
  if (!of.type().starts_with("b") || bits < 32)
    return false;
  auto operand = [&](size_t i) { return read(of.operands[i], bits); };
  Type *type = builder.getIntNTy(bits);
  auto number = [&](uint64_t value) { return ConstantInt::get(type, value); };
  if (name == "brev" && of.operands.size() == 2) {
    write(of.operands[0],
          builder.CreateUnaryIntrinsic(Intrinsic::bitreverse, operand(1)));
    return true;
  }
  if (of.operands.size() < 4)
    return false;
  if (name == "bfi" && of.operands.size() == 5) {
    // The lower `length` bits of the first become those of the second from
    // `begin` on. In twice the bits no shift is by too much.
    Type *wide = builder.getIntNTy(512);
    auto byte = [&](size_t i) {
      return builder.CreateZExt(
          builder.CreateAnd(read(of.operands[i], 32), 255), wide);
    };
    Value one = ConstantInt::get(wide, 1), begin = byte(3);
    Value field = builder.CreateSub(builder.CreateShl(one, byte(4)), one);
    Value mask = builder.CreateShl(field, begin);
    Value from = builder.CreateShl(builder.CreateZExt(operand(1), wide), begin);
    Value onto = builder.CreateZExt(operand(2), wide);
    write(
        of.operands[0],
        builder.CreateTrunc(
            builder.CreateOr(builder.CreateAnd(from, mask),
                             builder.CreateAnd(onto, builder.CreateNot(mask))),
            type));
    return true;
  }
  uint64_t table = 0;
  if (name == "lop3" && of.operands.size() == 5 &&
      !StringRef(of.operands[4]).getAsInteger(0, table)) {
    Value result = number(0);
    for (unsigned row = 0; row < 8; ++row) {
      if (!(table >> row & 1))
        continue;
      Value all = number(~uint64_t(0));
      for (unsigned i = 0; i < 3; ++i) {
        Value each = operand(1 + i);
        all = builder.CreateAnd(
            all, row >> (2 - i) & 1 ? each : builder.CreateNot(each));
      }
      result = builder.CreateOr(result, all);
    }
    write(of.operands[0], result);
    return true;
  }
  if (name != "prmt" || of.operands.size() != 4 || of.words.size() != 2)
    return false;
  // Each nibble of the selector names a byte of the pair (b, a), or its sign.
  Type *wide = builder.getInt64Ty();
  Value pair = builder.CreateOr(
      builder.CreateZExt(operand(1), wide),
      builder.CreateShl(builder.CreateZExt(operand(2), wide), 32));
  Value selector = operand(3), result = number(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value nibble = builder.CreateAnd(builder.CreateLShr(selector, 4 * i), 15);
    Value shift = builder.CreateZExt(
        builder.CreateShl(builder.CreateAnd(nibble, 7), 3), wide);
    Value byte = builder.CreateTrunc(builder.CreateLShr(pair, shift),
                                     builder.getInt8Ty());
    Value sign = builder.CreateAShr(byte, 7);
    byte = builder.CreateSelect(
        builder.CreateIsNotNull(builder.CreateAnd(nibble, 8)), sign, byte);
    result = builder.CreateOr(
        result, builder.CreateShl(builder.CreateZExt(byte, type), 8 * i));
  }
  write(of.operands[0], result);
  return true;
}

/// A quotient, or a remainder. A division by 0 gives a number that PTX leaves
/// open, and does no harm: compilers bring divisions to where nobody may use
/// them. Nor does the one whose result there is no number for.
Value *Translation::quotient(bool isWhole, bool isSigned, Value a, Value b) {
  Type *type = a->getType();
  Value isZero = builder.CreateICmpEQ(b, ConstantInt::get(type, 0));
  Value isBad = isZero;
  if (isSigned)
    isBad = builder.CreateOr(
        isBad, builder.CreateICmpEQ(b, ConstantInt::getAllOnesValue(type)));
  Value by = builder.CreateSelect(isBad, ConstantInt::get(type, 1), b);
  if (!isWhole) {
    Value rest =
        isSigned ? builder.CreateSRem(a, by) : builder.CreateURem(a, by);
    return builder.CreateSelect(isZero, a, rest);
  }
  Value whole =
      isSigned ? builder.CreateSDiv(a, by) : builder.CreateUDiv(a, by);
  if (isSigned)
    whole = builder.CreateSelect(isBad, builder.CreateNeg(a), whole);
  return builder.CreateSelect(isZero, ConstantInt::getAllOnesValue(type),
                              whole);
}

bool Translation::integerArithmetic(const Instruction &of) {
  unsigned bits = bitsOf(of.type());
  bool isSigned = isSignedType(of.type());
  if (bits == 0 || isFloatType(of.type()) || of.has("sat") || of.has("cc"))
    return false;
  StringRef name = of.name();
  Value a = read(of.operands[1], bits);
  Value b = of.operands.size() > 2 ? read(of.operands[2], bits) : nullptr;
  auto binary = [&](Intrinsic::ID id) {
    return builder.CreateBinaryIntrinsic(id, a, b);
  };
  Value result = nullptr;
  if (name == "not")
    result = builder.CreateNot(a);
  else if (name == "neg")
    result = builder.CreateNeg(a);
  else if (name == "abs")
    result =
        builder.CreateBinaryIntrinsic(Intrinsic::abs, a, builder.getFalse());
  else if (name == "popc")
    result = builder.CreateUnaryIntrinsic(Intrinsic::ctpop, a);
  else if (name == "clz")
    result =
        builder.CreateBinaryIntrinsic(Intrinsic::ctlz, a, builder.getFalse());
  else if (!b)
    return false;
  else if (name == "add")
    result = builder.CreateAdd(a, b);
  else if (name == "sub")
    result = builder.CreateSub(a, b);
  else if (name == "and")
    result = builder.CreateAnd(a, b);
  else if (name == "or")
    result = builder.CreateOr(a, b);
  else if (name == "xor")
    result = builder.CreateXor(a, b);
  else if (name == "min")
    result = binary(isSigned ? Intrinsic::smin : Intrinsic::umin);
  else if (name == "max")
    result = binary(isSigned ? Intrinsic::smax : Intrinsic::umax);
  else if (name == "div" || name == "rem")
    result = quotient(name == "div", isSigned, a, b);
  else if (name == "bfe")
    result = bitField(a, of);
  else
    return false;
  write(of.operands[0], result, isSigned);
  return true;
}

} // namespace shardc::test::ptx

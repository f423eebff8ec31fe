// Arithmetic, comparisons and selections of integers and floats.
#include "Translate.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace shardc::test::ptx {

static bool isFloatType(StringRef type) {
  return type == "f16" || type == "bf16" || type == "f32" || type == "f64";
}

static bool isSignedType(StringRef type) { return type.starts_with("s"); }

Value *Translation::readFloat(StringRef operand, StringRef type) {
  return floatOf(read(operand, bitsOf(type)), type);
}

void Translation::writeFloat(StringRef operand, Value value, StringRef type) {
  write(operand, bitsOfFloat(value, type));
}

Value *Translation::flushed(Value number) {
  Type *type = number->getType();
  if (!type->isFloatTy())
    return number;
  Value size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, number);
  Value least = ConstantFP::get(type, 0x1p-126);
  Value zero = builder.CreateBinaryIntrinsic(
      Intrinsic::copysign, ConstantFP::get(type, 0.0), number);
  return builder.CreateSelect(builder.CreateFCmpOLT(size, least), zero, number);
}

/// The result in the operands' type, not yet rounded to 16 bits; null of an
/// instruction that is none of these. Approximations are the exact number,
/// rounded.
Value *Translation::floatResult(const Instruction &of,
                                ArrayRef<Value> operands) {
  StringRef name = of.name();
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : nullptr;
  Type *type = a->getType();
  auto one = [&] { return ConstantFP::get(type, 1.0); };
  auto call = [&](Intrinsic::ID id) {
    return builder.CreateUnaryIntrinsic(id, a);
  };
  if (name == "add")
    return builder.CreateFAdd(a, b);
  if (name == "sub")
    return builder.CreateFSub(a, b);
  if (name == "mul")
    return builder.CreateFMul(a, b);
  if (name == "div")
    return builder.CreateFDiv(a, b);
  if (name == "fma")
    return builder.CreateIntrinsic(Intrinsic::fma, {type}, operands);
  if (name == "min" || name == "max") {
    bool isMin = name == "min";
    return builder.CreateBinaryIntrinsic(
        of.has("NaN") ? (isMin ? Intrinsic::minimum : Intrinsic::maximum)
                      : (isMin ? Intrinsic::minimumnum : Intrinsic::maximumnum),
        a, b);
  }
  if (name == "neg")
    return builder.CreateFNeg(a);
  if (name == "abs")
    return call(Intrinsic::fabs);
  // PTX has the sign first.
  if (name == "copysign")
    return builder.CreateBinaryIntrinsic(Intrinsic::copysign, b, a);
  if (name == "sqrt")
    return call(Intrinsic::sqrt);
  if (name == "rcp")
    return builder.CreateFDiv(one(), a);
  if (name == "rsqrt")
    return builder.CreateFDiv(one(), call(Intrinsic::sqrt));
  if (name == "ex2")
    return call(Intrinsic::exp2);
  if (name == "lg2")
    return call(Intrinsic::log2);
  if (name == "sin")
    return call(Intrinsic::sin);
  if (name == "cos")
    return call(Intrinsic::cos);
  return nullptr;
}

/// Both float64 together are the exact sum: Knuth's TwoSum (The Art of Computer
/// Programming, volume 2, 4.2.2, theorem B).
Value *Translation::towardZero(const Instruction &of,
                               ArrayRef<Value> operands) {
  Type *type = builder.getDoubleTy();
  auto wide = [&](Value value) { return builder.CreateFPExt(value, type); };
  Value a = wide(operands[0]), b = wide(operands[1]);
  // A product of two float32 has no more bits than a float64.
  if (of.name() == "fma" || of.name() == "mul")
    a = builder.CreateFMul(a, b);
  if (of.name() == "fma")
    b = wide(operands[2]);
  else if (of.name() == "mul")
    b = ConstantFP::get(type, -0.0);
  else if (of.name() == "sub")
    b = builder.CreateFNeg(b);
  else if (of.name() != "add")
    return nullptr;
  Value sum = builder.CreateFAdd(a, b);
  Value ofB = builder.CreateFSub(sum, a);
  Value ofA = builder.CreateFSub(sum, ofB);
  Value rest = builder.CreateFAdd(builder.CreateFSub(a, ofA),
                                  builder.CreateFSub(b, ofB));
  Value near = builder.CreateFPTrunc(sum, builder.getFloatTy());
  Value beyond = builder.CreateFSub(sum, wide(near));
  Value zero = ConstantFP::get(type, 0.0);
  beyond =
      builder.CreateSelect(builder.CreateFCmpOEQ(beyond, zero), rest, beyond);
  // Rounded away from zero: what is missing has the other sign.
  Value away =
      builder.CreateAnd(builder.CreateFCmpONE(beyond, zero),
                        builder.CreateXor(builder.CreateFCmpOLT(beyond, zero),
                                          builder.CreateFCmpOLT(sum, zero)));
  Value bits = builder.CreateBitCast(near, builder.getInt32Ty());
  return builder.CreateBitCast(
      builder.CreateSub(bits, builder.CreateZExt(away, builder.getInt32Ty())),
      builder.getFloatTy());
}

bool Translation::floatArithmetic(const Instruction &of) {
  StringRef type = of.type();
  if (!isFloatType(type) || of.has("sat"))
    return false;
  // A fused sum of 16-bit numbers would be rounded twice.
  if (of.name() == "fma" && bitsOf(type) == 16)
    return false;
  // All that is not the nearest number.
  if (of.has("rm") || of.has("rp") || (of.has("rz") && type != "f32"))
    return false;
  SmallVector<Value, 3> operands;
  for (size_t i = 1; i < of.operands.size(); ++i) {
    Value operand = readFloat(of.operands[i], type);
    operands.push_back(of.has("ftz") ? flushed(operand) : operand);
  }
  Value result = nullptr;
  if (of.has("rz"))
    result = operands.size() > 1 ? towardZero(of, operands) : nullptr;
  else if (!operands.empty())
    result = floatResult(of, operands);
  if (!result)
    return false;
  // rcp.approx.ftz.f64 has the upper half of the number (PTX ISA, 9.7.3.14).
  if (of.name() == "rcp" && of.has("approx") && type == "f64")
    result = builder.CreateBitCast(
        builder.CreateAnd(builder.CreateBitCast(result, builder.getInt64Ty()),
                          uint64_t(0xffffffff) << 32),
        result->getType());
  writeFloat(of.operands[0], of.has("ftz") ? flushed(result) : result, type);
  return true;
}

/// f16x2 and bf16x2: each half on its own.
bool Translation::packedArithmetic(const Instruction &of) {
  StringRef type = of.type();
  if (type != "f16x2" && type != "bf16x2")
    return false;
  if (of.name() == "fma")
    return false;
  StringRef half = type.drop_back(2);
  Value whole = builder.getInt32(0);
  for (unsigned at : {0u, 16u}) {
    SmallVector<Value, 3> operands;
    for (size_t i = 1; i < of.operands.size(); ++i)
      operands.push_back(floatOf(
          builder.CreateTrunc(builder.CreateLShr(read(of.operands[i], 32), at),
                              builder.getInt16Ty()),
          half));
    Value result = operands.empty() ? nullptr : floatResult(of, operands);
    if (!result)
      return false;
    whole = builder.CreateOr(
        whole, builder.CreateShl(builder.CreateZExt(bitsOfFloat(result, half),
                                                    builder.getInt32Ty()),
                                 at));
  }
  write(of.operands[0], whole);
  return true;
}

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
  else if (name == "div")
    result = isSigned ? builder.CreateSDiv(a, b) : builder.CreateUDiv(a, b);
  else if (name == "rem")
    result = isSigned ? builder.CreateSRem(a, b) : builder.CreateURem(a, b);
  else if (name == "bfe")
    result = bitField(a, of);
  else
    return false;
  write(of.operands[0], result, isSigned);
  return true;
}

static std::optional<CmpInst::Predicate> predicateOf(StringRef word,
                                                     StringRef type) {
  using P = CmpInst::Predicate;
  using Found = std::optional<P>;
  if (isFloatType(type))
    return StringSwitch<Found>(word)
        .Case("eq", P::FCMP_OEQ)
        .Case("ne", P::FCMP_ONE)
        .Case("lt", P::FCMP_OLT)
        .Case("le", P::FCMP_OLE)
        .Case("gt", P::FCMP_OGT)
        .Case("ge", P::FCMP_OGE)
        .Case("equ", P::FCMP_UEQ)
        .Case("neu", P::FCMP_UNE)
        .Case("ltu", P::FCMP_ULT)
        .Case("leu", P::FCMP_ULE)
        .Case("gtu", P::FCMP_UGT)
        .Case("geu", P::FCMP_UGE)
        .Case("num", P::FCMP_ORD)
        .Case("nan", P::FCMP_UNO)
        .Default(std::nullopt);
  bool isSigned = isSignedType(type);
  return StringSwitch<Found>(word)
      .Case("eq", P::ICMP_EQ)
      .Case("ne", P::ICMP_NE)
      .Cases({"lt", "lo"}, isSigned ? P::ICMP_SLT : P::ICMP_ULT)
      .Cases({"le", "ls"}, isSigned ? P::ICMP_SLE : P::ICMP_ULE)
      .Cases({"gt", "hi"}, isSigned ? P::ICMP_SGT : P::ICMP_UGT)
      .Cases({"ge", "hs"}, isSigned ? P::ICMP_SGE : P::ICMP_UGE)
      .Default(std::nullopt);
}

void Translation::compare(const Instruction &of) {
  StringRef type = of.type();
  std::optional<CmpInst::Predicate> predicate = predicateOf(of.words[1], type);
  if (!predicate || of.operands.size() != 3 || bitsOf(type) == 0 ||
      StringRef(of.operands[0]).contains('|'))
    return unknown(of, "");
  auto operand = [&](StringRef text) {
    if (!isFloatType(type))
      return read(text, bitsOf(type));
    Value number = readFloat(text, type);
    return of.has("ftz") ? flushed(number) : number;
  };
  write(of.operands[0], builder.CreateCmp(*predicate, operand(of.operands[1]),
                                          operand(of.operands[2])));
}

void Translation::select(const Instruction &of) {
  unsigned bits = bitsOf(of.type());
  if (bits == 0 || of.operands.size() != 4)
    return unknown(of, "");
  write(of.operands[0], builder.CreateSelect(read(of.operands[3], 1),
                                             read(of.operands[1], bits),
                                             read(of.operands[2], bits)));
}

} // namespace shardc::test::ptx

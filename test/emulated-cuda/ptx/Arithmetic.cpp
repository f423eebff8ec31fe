// Arithmetic of floats; comparisons and selections of all numbers.
#include "Translate.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace shardc::test::ptx {

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
/// rounded; see approximated().
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
  if (name == "tanh")
    return call(Intrinsic::tanh);
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

/// A float32 that rounds to 16 bits as the fused sum does: products of 16-bit
/// numbers are exact in float64, and what a sum loses there is far below the
/// last of 11 digits.
Value *Translation::fusedOf16(ArrayRef<Value> operands) {
  auto wide = [&](Value value) {
    return builder.CreateFPExt(value, builder.getDoubleTy());
  };
  return roundToOdd(builder.CreateFAdd(
      builder.CreateFMul(wide(operands[0]), wide(operands[1])),
      wide(operands[2])));
}

/// Half of the approximations are off by the last bit, so that nobody relies on
/// the exact number. Powers of two, infinities and NaN stay.
Value *Translation::approximated(Value number) {
  Value bits = builder.CreateBitCast(number, builder.getInt32Ty());
  Value isOrdinary = builder.CreateAnd(
      builder.CreateIsNotNull(builder.CreateAnd(bits, 0x7fffff)),
      builder.CreateICmpULT(builder.CreateAnd(bits, 0x7fffffff),
                            builder.getInt32(0x7f7fffff)));
  Value off = builder.CreateAnd(
      isOrdinary,
      builder.CreateTrunc(builder.CreateLShr(bits, 2), builder.getInt1Ty()));
  return builder.CreateBitCast(
      builder.CreateAdd(bits, builder.CreateZExt(off, builder.getInt32Ty())),
      builder.getFloatTy());
}

bool Translation::floatArithmetic(const Instruction &of) {
  StringRef type = of.type();
  if (!isFloatType(type) || of.has("sat"))
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
    result = of.name() == "fma" && bitsOf(type) == 16
                 ? fusedOf16(operands)
                 : floatResult(of, operands);
  if (!result)
    return false;
  if ((of.has("approx") || of.has("full")) && type == "f32")
    result = approximated(result);
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
  StringRef half = type.drop_back(2);
  Value whole = builder.getInt32(0);
  for (unsigned at : {0u, 16u}) {
    SmallVector<Value, 3> operands;
    for (size_t i = 1; i < of.operands.size(); ++i)
      operands.push_back(floatOf(
          builder.CreateTrunc(builder.CreateLShr(read(of.operands[i], 32), at),
                              builder.getInt16Ty()),
          half));
    Value result = operands.empty()     ? nullptr
                   : of.name() == "fma" ? fusedOf16(operands)
                                        : floatResult(of, operands);
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

/// "setp.lt.f16x2 p|q, a, b": of the lower halves, and of the upper ones.
void Translation::compareHalves(const Instruction &of,
                                CmpInst::Predicate predicate) {
  StringRef half = of.type().drop_back(2);
  auto [lower, upper] = StringRef(of.operands[0]).split('|');
  if (of.operands.size() != 3 || upper.empty())
    return unknown(of, "expects two predicates and two operands");
  for (auto [to, shift] : {std::pair(lower, 0u), {upper, 16u}}) {
    auto operand = [&](StringRef text) {
      Value bits = builder.CreateLShr(read(text, 32), shift);
      Value number =
          floatOf(builder.CreateTrunc(bits, builder.getInt16Ty()), half);
      return of.has("ftz") ? flushed(number) : number;
    };
    write(to, builder.CreateCmp(predicate, operand(of.operands[1]),
                                operand(of.operands[2])));
  }
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

/// "setp.lt.f32 p, a, b", and with "and", "or" or "xor" a further predicate.
void Translation::compare(const Instruction &of) {
  StringRef type = of.type();
  if (type == "f16x2" || type == "bf16x2") {
    auto predicate = predicateOf(of.words[1], type.drop_back(2));
    return predicate ? compareHalves(of, *predicate) : unknown(of, "");
  }
  std::optional<CmpInst::Predicate> predicate = predicateOf(of.words[1], type);
  bool combines = of.operands.size() == 4;
  if (!predicate || of.operands.size() < 3 || of.operands.size() > 4 ||
      bitsOf(type) == 0 || StringRef(of.operands[0]).contains('|'))
    return unknown(of, "");
  auto operand = [&](StringRef text) {
    if (!isFloatType(type))
      return read(text, bitsOf(type));
    Value number = readFloat(text, type);
    return of.has("ftz") ? flushed(number) : number;
  };
  Value result = builder.CreateCmp(*predicate, operand(of.operands[1]),
                                   operand(of.operands[2]));
  if (combines) {
    StringRef text = of.operands[3];
    bool negated = text.consume_front("!");
    Value with = read(text, 1);
    if (negated)
      with = builder.CreateNot(with);
    result = of.has("and")  ? builder.CreateAnd(result, with)
             : of.has("or") ? builder.CreateOr(result, with)
                            : builder.CreateXor(result, with);
  }
  write(of.operands[0], result);
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

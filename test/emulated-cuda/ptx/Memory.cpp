// Loads, stores, moves, and what threads of a block do together.
#include "Translate.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace shardc::test::ptx {

static unsigned lanes(const Instruction &of) {
  return of.has("v2") ? 2 : of.has("v4") ? 4 : of.has("v8") ? 8 : 1;
}

/// Whether it is known that `operand` is a multiple of `bytes`: another access
/// of this block has found it out of the same register or name.
bool Translation::isMultiple(StringRef operand, unsigned bytes) {
  operand.consume_front("[");
  operand.consume_back("]");
  auto [base, offset] = operand.split('+');
  int64_t more = 0;
  if (!offset.empty() && offset.trim().getAsInteger(10, more))
    return false;
  if (more % bytes)
    return false;
  unsigned &known = multiples[base.trim()];
  if (known >= bytes)
    return true;
  known = bytes;
  return false;
}

/// An access must be a multiple of all its bytes (PTX ISA, 6.4.1.1).
Value *Translation::accessed(const Instruction &of, StringRef operand,
                             unsigned bytes, uint32_t kind) {
  Value at = address(operand);
  if (of.has("param"))
    return at;
  Value number = builder.CreatePtrToInt(at, builder.getInt64Ty());
  if (of.has("shared") || of.has("shared::cta")) {
    // A call at each access would spill the registers around it.
    Value asks = field(offsetof(Thread, checksShared), builder.getInt32Ty());
    if (bytes > 1 && !isMultiple(operand, bytes))
      asks = builder.CreateOr(
          asks,
          builder.CreateAnd(builder.CreateTrunc(number, builder.getInt32Ty()),
                            bytes - 1));
    BasicBlock *ask = BasicBlock::Create(context, "", function);
    BasicBlock *done = BasicBlock::Create(context, "", function);
    builder.CreateCondBr(builder.CreateIsNotNull(asks), ask, done,
                         MDBuilder(context).createUnlikelyBranchWeights());
    builder.SetInsertPoint(ask);
    service(offsetof(Services, shared), builder.getVoidTy(),
            {number, builder.getInt32(kind | bytes), statement(of)});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    return at;
  }
  bool isLocal = of.has("local") || of.has("const");
  if (!of.has("global"))
    kind |= accessGeneric;
  Value low = nullptr; // of an address that may be wrong
  if (bytes > 1 && !isMultiple(operand, bytes))
    low = builder.CreateAnd(number, bytes - 1);
  if (checked && !isLocal)
    return checkedAccess(of, number, low, bytes, kind);
  if (low) {
    BasicBlock *wrong = BasicBlock::Create(context, "", function);
    BasicBlock *right = BasicBlock::Create(context, "", function);
    builder.CreateCondBr(builder.CreateIsNotNull(low), wrong, right);
    builder.SetInsertPoint(wrong);
    service(offsetof(Services, misaligned), builder.getVoidTy(),
            {statement(of)});
    builder.CreateUnreachable();
    builder.SetInsertPoint(right);
  }
  if (isLocal)
    return at;
  Value inside = builder.CreateICmpULT(
      builder.CreateSub(number, builder.getInt64(deviceMemory)),
      builder.getInt64(deviceMemoryBytes));
  return builder.CreateSelect(
      inside,
      builder.CreateConstGEP1_64(builder.getInt8Ty(), at, kernelMemoryOffset),
      at);
}

Value *Translation::checkedAccess(const Instruction &of, Value number,
                                  Value low, unsigned bytes, uint32_t kind) {
  auto call = [&] {
    return service(offsetof(Services, access), builder.getPtrTy(),
                   {number, builder.getInt32(kind | bytes), statement(of)});
  };
  bool reads = kind & accessReads, writes = kind & accessWrites;
  if ((reads && writes) || bytes < 2 || bytes > 16)
    return call();
  BasicBlock *test = BasicBlock::Create(context, "", function);
  BasicBlock *ask = BasicBlock::Create(context, "", function);
  BasicBlock *done = BasicBlock::Create(context, "", function);
  Value offset = builder.CreateSub(number, builder.getInt64(deviceMemory));
  builder.CreateCondBr(
      builder.CreateICmpULT(offset, builder.getInt64(deviceMemoryBytes)), test,
      ask);
  builder.SetInsertPoint(test);
  Value granule = builder.CreateIntToPtr(
      builder.CreateAdd(builder.CreateMul(builder.CreateLShr(offset, 2),
                                          builder.getInt64(granuleBytes)),
                        builder.getInt64(granules)),
      builder.getPtrTy());
  Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  Value tag = field(offsetof(Thread, tag), word);
  Value mask = builder.getInt32(15);
  if (bytes == 2)
    mask = builder.CreateShl(
        builder.getInt32(3),
        builder.CreateAnd(builder.CreateTrunc(offset, word), 2));
  Value wanted = builder.CreateOr(tag, mask);
  Value kept = builder.CreateOr(mask, ~uint32_t(15));
  Value known = low ? builder.CreateIsNull(low) : builder.getTrue();
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i) {
    // This one has read it, or it has written it and nobody has read it since.
    auto at = [&](uint64_t more) {
      return builder.CreateConstGEP1_64(builder.getInt8Ty(), granule,
                                        i * granuleBytes + more);
    };
    Value is;
    if (reads)
      is = builder.CreateICmpEQ(
          builder.CreateAnd(builder.CreateAlignedLoad(word, at(4), Align(4)),
                            kept),
          wanted);
    else
      is = builder.CreateICmpEQ(
          builder.CreateAnd(builder.CreateAlignedLoad(wide, at(0), Align(8)),
                            builder.CreateSExt(kept, wide)),
          builder.CreateZExt(wanted, wide));
    known = builder.CreateAnd(known, is);
  }
  Value direct = builder.CreateIntToPtr(
      builder.CreateAdd(number, builder.getInt64(kernelMemoryOffset)),
      builder.getPtrTy());
  builder.CreateCondBr(known, done, ask);
  builder.SetInsertPoint(ask);
  Value asked = call();
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  PHINode *at = builder.CreatePHI(builder.getPtrTy(), 2);
  at->addIncoming(direct, test);
  at->addIncoming(asked, ask);
  return at;
}

void Translation::load(const Instruction &of) {
  unsigned bits = bitsOf(of.type()), count = lanes(of);
  SmallVector<std::string, 8> to = parts(of.operands[0]);
  if (bits < 8 || to.size() != count)
    return unknown(of, "");
  Value at = accessed(of, of.operands[1], count * bits / 8, accessReads);
  bool isSigned = of.type().starts_with("s");
  // All are loaded before a register changes, of which one may be the address.
  SmallVector<Value> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(builder.CreateAlignedLoad(
        builder.getIntNTy(bits),
        builder.CreateConstGEP1_64(builder.getInt8Ty(), at, i * bits / 8),
        Align(of.has("param") ? 1 : bits / 8)));
  for (unsigned i = 0; i < count; ++i)
    write(to[i], values[i], isSigned);
}

void Translation::store(const Instruction &of) {
  unsigned bits = bitsOf(of.type()), count = lanes(of);
  SmallVector<std::string, 8> from = parts(of.operands[1]);
  if (bits < 8 || from.size() != count)
    return unknown(of, "");
  Value at = accessed(of, of.operands[0], count * bits / 8, accessWrites);
  for (unsigned i = 0; i < count; ++i)
    builder.CreateAlignedStore(
        read(from[i], bits),
        builder.CreateConstGEP1_64(builder.getInt8Ty(), at, i * bits / 8),
        Align(of.has("param") ? 1 : bits / 8));
}

void Translation::move(const Instruction &of) {
  // All spaces have the host's addresses.
  unsigned bits = bitsOf(of.type());
  if (bits == 0)
    return unknown(of, "");
  SmallVector<std::string, 8> to = parts(of.operands[0]),
                              from = parts(of.operands[1]);
  if (to.size() == 1 && from.size() == 1)
    return write(to[0], read(from[0], bits));
  Value whole = builder.getIntN(bits, 0);
  unsigned part = bits / unsigned(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    whole = builder.CreateOr(
        whole, builder.CreateShl(
                   builder.CreateZExt(read(from[i], part), whole->getType()),
                   i * part));
  part = bits / unsigned(to.size());
  for (size_t i = 0; i < to.size(); ++i)
    write(to[i], builder.CreateTrunc(builder.CreateLShr(whole, i * part),
                                     builder.getIntNTy(part)));
}

/// atom and red: one thread at a time changes a word.
bool Translation::atomic(const Instruction &of) {
  bool returns = of.name() == "atom";
  if (!returns && of.name() != "red")
    return false;
  StringRef type = of.type();
  unsigned bits = bitsOf(type);
  bool isFloat = type == "f32" || type == "f64", isSigned = type[0] == 's';
  auto given = [&](size_t i) { return of.operands[returns + i]; };
  bool swapsIfEqual = of.has("cas");
  if (bits < 32 || type.ends_with("x2") ||
      of.operands.size() != 2u + returns + swapsIfEqual)
    return false;
  using Op = AtomicRMWInst::BinOp;
  Op op = of.has("add")    ? (isFloat ? Op::FAdd : Op::Add)
          : of.has("exch") ? Op::Xchg
          : of.has("and")  ? Op::And
          : of.has("or")   ? Op::Or
          : of.has("xor")  ? Op::Xor
          : of.has("min")  ? (isSigned ? Op::Min : Op::UMin)
          : of.has("max")  ? (isSigned ? Op::Max : Op::UMax)
                           : Op::BAD_BINOP;
  if ((op == Op::BAD_BINOP && !swapsIfEqual) ||
      (isFloat && op != Op::FAdd && op != Op::Xchg))
    return false;
  Value at = accessed(of, given(0), bits / 8, accessReads | accessWrites);
  Value value = read(given(1), bits), before;
  if (swapsIfEqual)
    before = builder.CreateExtractValue(
        builder.CreateAtomicCmpXchg(at, value, read(given(2), bits),
                                    Align(bits / 8), AtomicOrdering::Monotonic,
                                    AtomicOrdering::Monotonic),
        0);
  else
    before = builder.CreateAtomicRMW(
        op, at, isFloat ? readFloat(given(1), type) : value, Align(bits / 8),
        AtomicOrdering::Monotonic);
  if (returns)
    write(of.operands[0], isFloat ? bitsOfFloat(before, type) : before,
          isSigned);
  return true;
}

/// Bytes arrive when they are waited for, and not before.
void Translation::copyAsync(const Instruction &of) {
  Type *none = builder.getVoidTy();
  if (of.has("commit_group"))
    service(offsetof(Services, commitCopies), none, {});
  else if (of.has("wait_all")) {
    service(offsetof(Services, commitCopies), none, {});
    service(offsetof(Services, awaitCopies), none, {builder.getInt32(0)});
  } else if (of.has("wait_group"))
    service(offsetof(Services, awaitCopies), none, {read(of.operands[0], 32)});
  else if (of.has("async") && of.operands.size() >= 3 &&
           of.operands.size() <= 4) {
    uint64_t bytes = 0;
    if (StringRef(of.operands[2]).getAsInteger(10, bytes) ||
        (bytes != 4 && bytes != 8 && bytes != 16))
      return unknown(of, "4, 8 and 16 bytes are");
    Value given = of.operands.size() == 4 ? read(of.operands[3], 32)
                                          : builder.getInt32(bytes);
    Instruction source = of;
    source.words = {"ld", "global"};
    Value from = accessed(source, of.operands[1], unsigned(bytes), accessReads);
    // It may be written from now on, and until the copy is waited for.
    source.words = {"st", "shared"};
    Value to = accessed(source, of.operands[0], unsigned(bytes), accessWrites);
    service(offsetof(Services, copyLater), none,
            {to, from, builder.getInt32(bytes), given});
  } else
    unknown(of, "");
}

} // namespace shardc::test::ptx

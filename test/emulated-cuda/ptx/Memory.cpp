// Loads, stores, moves, and what threads of a block do together.
#include "Translate.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace shardc::test::ptx {

static unsigned lanes(const Instruction &of) {
  return of.has("v2") ? 2 : of.has("v4") ? 4 : of.has("v8") ? 8 : 1;
}

/// An access must be a multiple of all its bytes (PTX ISA, 6.4.1.1).
Value *Translation::checkedAddress(const Instruction &of, StringRef operand,
                                   unsigned bytes) {
  Value at = address(operand);
  if (bytes == 1 || of.has("param"))
    return at;
  Value low = builder.CreateAnd(
      builder.CreatePtrToInt(at, builder.getInt64Ty()), bytes - 1);
  BasicBlock *wrong = BasicBlock::Create(context, "", function);
  BasicBlock *right = BasicBlock::Create(context, "", function);
  builder.CreateCondBr(builder.CreateIsNotNull(low), wrong, right);
  builder.SetInsertPoint(wrong);
  builder.CreateCall(
      FunctionType::get(builder.getVoidTy(),
                        {builder.getPtrTy(), builder.getPtrTy()}, false),
      field(Misaligned),
      {thread, builder.CreateGlobalString(kernel.name + ": " + of.text)});
  builder.CreateUnreachable();
  builder.SetInsertPoint(right);
  return at;
}

void Translation::load(const Instruction &of) {
  unsigned bits = bitsOf(of.type()), count = lanes(of);
  SmallVector<std::string, 8> to = parts(of.operands[0]);
  if (bits < 8 || to.size() != count)
    return unknown(of, "");
  Value at = checkedAddress(of, of.operands[1], count * bits / 8);
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
  Value at = checkedAddress(of, of.operands[0], count * bits / 8);
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

void Translation::barrier(const Instruction &of) {
  if (!of.has("sync") || of.operands.size() != 1 || of.operands[0] != "0")
    return unknown(of, "bar.sync 0 is");
  builder.CreateCall(
      FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
      field(Barrier), {thread});
}

void Translation::shuffle(const Instruction &of) {
  if (!of.has("bfly") || of.operands.size() != 5 || of.operands[3] != "31" ||
      of.operands[4] != "-1" || StringRef(of.operands[0]).contains('|'))
    return unknown(of, "shfl.sync.bfly of whole warps is");
  Type *word = builder.getInt32Ty();
  write(of.operands[0],
        builder.CreateCall(
            FunctionType::get(word, {builder.getPtrTy(), word, word}, false),
            field(Shuffle),
            {thread, read(of.operands[1], 32), read(of.operands[2], 32)}));
}

} // namespace shardc::test::ptx

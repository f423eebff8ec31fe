// What threads of a warp or block do together: each brings its words, and waits
// for the others.
#include "Translate.h"

using namespace llvm;

namespace shardc::test::ptx {

/// "bar.sync 0;", "barrier.sync 1, 64;", "bar.warp.sync mask;"
void Translation::barrier(const Instruction &of) {
  if (of.has("warp")) {
    together(of, WarpOp::Meet, read(of.operands[0], 32), {}, 0);
    return;
  }
  if (!of.has("sync") || of.operands.empty() || of.operands.size() > 2)
    return unknown(of, "bar.sync is");
  Value threads =
      of.operands.size() == 2 ? read(of.operands[1], 32) : builder.getInt32(0);
  service(offsetof(Services, barrier), builder.getVoidTy(),
          {read(of.operands[0], 32), threads, statement(of)});
}

SmallVector<Value *, 4> Translation::together(const Instruction &of, WarpOp op,
                                              Value mask, ArrayRef<Value> in,
                                              unsigned results) {
  if (!given) {
    // All that a thread does together with others takes the same lines of a
    // cache.
    IRBuilder<> entry(&function->getEntryBlock(),
                      function->getEntryBlock().begin());
    Type *words = ArrayType::get(builder.getInt32Ty(), mostWarpWords);
    given = entry.CreateAlloca(words), made = entry.CreateAlloca(words);
  }
  for (auto [i, each] : enumerate(in))
    builder.CreateStore(
        each, builder.CreateConstGEP1_64(builder.getInt32Ty(), given, i));
  service(offsetof(Services, warp), builder.getVoidTy(),
          {builder.getInt32(uint32_t(op)), mask, given, made, statement(of)});
  SmallVector<Value, 4> all;
  for (unsigned i = 0; i < results; ++i)
    all.push_back(builder.CreateLoad(
        builder.getInt32Ty(),
        builder.CreateConstGEP1_64(builder.getInt32Ty(), made, i)));
  return all;
}

bool Translation::ofWarp(const Instruction &of) {
  StringRef name = of.name();
  if (name == "shfl")
    shuffle(of);
  else if (name == "mma")
    multiplyMatrices(of);
  else if (name == "ldmatrix")
    loadMatrix(of);
  else if (name == "vote" && of.has("sync") && of.operands.size() == 3) {
    StringRef operand = of.operands[1];
    bool negated = operand.consume_front("!");
    Value predicate = read(operand, 1);
    if (negated)
      predicate = builder.CreateNot(predicate);
    VoteMode mode = of.has("all")   ? VoteMode::All
                    : of.has("any") ? VoteMode::Any
                    : of.has("uni") ? VoteMode::Uniform
                                    : VoteMode::Ballot;
    Value word = together(of, WarpOp::Vote, read(of.operands[2], 32),
                          {builder.CreateZExt(predicate, builder.getInt32Ty()),
                           builder.getInt32(uint32_t(mode))},
                          1)[0];
    write(of.operands[0],
          mode == VoteMode::Ballot ? word : builder.CreateIsNotNull(word));
  } else if (name == "redux" && of.operands.size() == 3 && of.type() != "f32") {
    bool isSigned = of.type() == "s32";
    ReduceMode mode = of.has("add")   ? ReduceMode::Add
                      : of.has("and") ? ReduceMode::And
                      : of.has("or")  ? ReduceMode::Or
                      : of.has("xor") ? ReduceMode::Xor
                      : of.has("min")
                          ? (isSigned ? ReduceMode::MinS : ReduceMode::MinU)
                          : (isSigned ? ReduceMode::MaxS : ReduceMode::MaxU);
    write(of.operands[0],
          together(of, WarpOp::Reduce, read(of.operands[2], 32),
                   {read(of.operands[1], 32), builder.getInt32(uint32_t(mode))},
                   1)[0]);
  } else
    return false;
  return true;
}

/// "shfl.sync.MODE.b32 d|p, a, b, c, mask" (PTX ISA, 9.7.9.6).
void Translation::shuffle(const Instruction &of) {
  if (!of.has("sync") || of.operands.size() != 5)
    return unknown(of, "shfl.sync is");
  ShuffleMode mode = of.has("up")     ? ShuffleMode::Up
                     : of.has("down") ? ShuffleMode::Down
                     : of.has("bfly") ? ShuffleMode::Butterfly
                                      : ShuffleMode::Index;
  auto [result, predicate] = StringRef(of.operands[0]).split('|');
  SmallVector<Value, 4> words =
      together(of, WarpOp::Shuffle, read(of.operands[4], 32),
               {read(of.operands[1], 32), read(of.operands[2], 32),
                read(of.operands[3], 32), builder.getInt32(uint32_t(mode))},
               2);
  write(result.trim(), words[0]);
  if (!predicate.empty())
    write(predicate.trim(), builder.CreateIsNotNull(words[1]));
}

/// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c".
void Translation::multiplyMatrices(const Instruction &of) {
  size_t types = of.words.size();
  if (!of.has("m16n8k16") || !of.has("row") || !of.has("col") || types < 5 ||
      of.words[types - 4] != "f32" || of.words[types - 1] != "f32" ||
      of.words[types - 3] != of.words[types - 2] || of.operands.size() != 4 ||
      (of.words[types - 2] != "f16" && of.words[types - 2] != "bf16"))
    return unknown(of, "m16n8k16 of f16 or bf16, added up in f32, is");
  SmallVector<Value, 12> in = {builder.getInt32(uint32_t(
      of.words[types - 2] == "f16" ? MatrixType::F16 : MatrixType::Bf16))};
  unsigned counts[] = {4, 2, 4};
  for (unsigned i = 0; i < 3; ++i) {
    SmallVector<std::string, 8> registers = parts(of.operands[1 + i]);
    if (registers.size() != counts[i])
      return unknown(of, "it takes other registers");
    for (const std::string &each : registers)
      in.push_back(read(each, 32));
  }
  SmallVector<std::string, 8> to = parts(of.operands[0]);
  SmallVector<Value, 4> results =
      together(of, WarpOp::Multiply, builder.getInt32(-1), in, 4);
  for (auto [place, value] : zip(to, results))
    write(place, value);
}

/// "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {...}, [address]".
void Translation::loadMatrix(const Instruction &of) {
  SmallVector<std::string, 8> to = parts(of.operands[0]);
  if (!of.has("m8n8") || of.type() != "b16" || to.size() > 4)
    return unknown(of, "m8n8 of 16 bits is");
  Value at =
      builder.CreatePtrToInt(address(of.operands[1]), builder.getInt64Ty());
  Type *word = builder.getInt32Ty();
  SmallVector<Value, 4> results = together(
      of, WarpOp::LoadMatrix, builder.getInt32(-1),
      {builder.getInt32(uint32_t(to.size())), builder.getInt32(of.has("trans")),
       builder.CreateTrunc(at, word),
       builder.CreateTrunc(builder.CreateLShr(at, 32), word)},
      unsigned(to.size()));
  for (auto [place, value] : zip(to, results))
    write(place, value);
}

} // namespace shardc::test::ptx

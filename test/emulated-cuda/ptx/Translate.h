// Kernels in PTX become functions of this machine, one call of which is one
// thread of a GPU.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_TRANSLATE_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_TRANSLATE_H

#include "Ptx.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace shardc::test::ptx {

/// Appends `void name(const void *parameters, EmulatedThread *, void *results)`
/// to `to` for each kernel (test/lib/EmulatedThread.h); `parameters`: their
/// bytes, as PTX lays them out; kernels have no results. Fails with the
/// statement that is not known.
llvm::Error translate(const Module &from, llvm::Module &to);

/// A function on its way. Registers are variables, which LLVM makes values.
class Translation {
public:
  /// What functions are called by, and the constants' places.
  using Symbols = llvm::StringMap<llvm::Constant *>;

  /// `function`: what `from` becomes. `module` and `symbols`: of what it may
  /// call.
  Translation(const Function &from, llvm::Function *function,
              const Module &module, const Symbols &symbols);
  llvm::Error run();

private:
  using Value = llvm::Value *;
  using Ref = llvm::StringRef;

  // Translate.cpp: control flow, operands
  llvm::Error instruction(const Instruction &of);
  llvm::BasicBlock *blockOf(Ref label);
  /// An operand as `bits` of an integer; as a float of the type's.
  Value read(Ref operand, unsigned bits);
  Value readFloat(Ref operand, Ref type);
  /// To a register of any width; of a wider one, the rest is zeros, or copies
  /// of the sign.
  void write(Ref operand, Value value, bool isSigned = false);
  void writeFloat(Ref operand, Value value, Ref type);
  /// Operands of "{%r1, _}".
  static llvm::SmallVector<std::string, 8> parts(Ref operand);
  enum Field { Tid, Ctaid, Shared, Barrier, Shuffle, Ntid, Nctaid, Misaligned };
  /// Of the EmulatedThread.
  Value field(Field of);
  Value address(Ref operand);
  /// Where a name's bytes are; null of no name.
  Value place(Ref name);
  Value variable(Ref name, const std::vector<Variable> &all, Value base);
  void unknown(const Instruction &of, Ref why);

  void call(const Instruction &of);

  // Memory.cpp
  void load(const Instruction &of);
  void store(const Instruction &of);
  Value checkedAddress(const Instruction &of, Ref operand, unsigned bytes);
  void move(const Instruction &of);
  void barrier(const Instruction &of);
  void shuffle(const Instruction &of);

  // Arithmetic.cpp
  bool integerArithmetic(const Instruction &of);
  bool floatArithmetic(const Instruction &of);
  bool packedArithmetic(const Instruction &of);
  bool multiply(const Instruction &of);
  bool shift(const Instruction &of);
  Value bitField(Value value, const Instruction &of);
  bool carrying(const Instruction &of);
  bool funnelShift(const Instruction &of);
  void compare(const Instruction &of);
  void select(const Instruction &of);
  Value floatResult(const Instruction &of, llvm::ArrayRef<Value> operands);
  /// The float32 next to the exact result on the side of zero.
  Value towardZero(const Instruction &of, llvm::ArrayRef<Value> operands);
  /// Numbers below the least normal one become zeros of their sign.
  Value flushed(Value number);

  // Convert.cpp
  void convert(const Instruction &of);
  void convertPair(const Instruction &of);
  Value rounded(Value number, const Instruction &of);
  Value floatOf(Value bits, Ref type);
  Value bitsOfFloat(Value number, Ref type);
  Value roundToBfloat(Value number);
  /// A float32 that rounds to 16 bits as the integer does.
  Value integerToFloat(Value integer, bool isSigned);

  const Function &kernel;
  const Module &module;
  const Symbols &symbols;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  llvm::Function *function = nullptr;
  Value parameters = nullptr, thread = nullptr, results = nullptr;
  Value shared = nullptr, locals = nullptr;
  Value carry = nullptr; // CC.CF
  llvm::StructType *threadType = nullptr;
  llvm::StringMap<llvm::AllocaInst *> registers;
  llvm::StringMap<llvm::BasicBlock *> blocks;
  std::string problem; // of the statement that was not known
};

} // namespace shardc::test::ptx

#endif

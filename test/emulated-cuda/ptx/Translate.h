// Kernels in PTX become functions of this machine, one call of which is one
// thread of a GPU.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_TRANSLATE_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_TRANSLATE_H

#include "Ptx.h"
#include "Thread.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace shardc::test::ptx {

/// Part of the key of what is kept of kernels that were translated: to be raised
/// where the same PTX becomes other code.
inline constexpr int translationVersion = 8;

/// Appends `void name(const void *parameters, Thread *, void *results)` to `to`
/// for each kernel (Thread.h), and its facts; `parameters`: their bytes, as PTX
/// lays them out; kernels have no results. `checked`: each access of global
/// memory goes through Services::access. Fails with the statement that is not
/// known.
llvm::Error translate(const Module &from, llvm::Module &to, bool checked);

/// A function on its way. Registers are variables, which LLVM makes values.
class Translation {
public:
  /// What functions are called by, and the constants' places.
  using Symbols = llvm::StringMap<llvm::Constant *>;

  /// `function`: what `from` becomes. `module` and `symbols`: of what it may
  /// call.
  Translation(const Function &from, llvm::Function *function,
              const Module &module, const Symbols &symbols, bool checked);
  llvm::Error run();

private:
  using Value = llvm::Value *;
  using Ref = llvm::StringRef;

  // Translate.cpp: control flow
  llvm::Error instruction(const Instruction &of);
  llvm::BasicBlock *blockOf(Ref label);
  void branchByIndex(const Instruction &of);
  void unknown(const Instruction &of, Ref why);
  void call(const Instruction &of);
  /// Of the Thread, which does not change.
  Value field(size_t offset, llvm::Type *type);
  /// Calls one of the Services.
  Value service(size_t offset, llvm::Type *result,
                llvm::ArrayRef<Value> arguments);
  Value statement(const Instruction &of);

  // Operands.cpp
  /// The last value of a register that one block alone mentions, or the variable
  /// of another one.
  struct Register {
    unsigned bits = 0;
    bool isOfOneBlock = true;
    Value value = nullptr, variable = nullptr;
  };
  void findRegisters();
  Value variableOf(Register &of);
  /// An operand as `bits` of an integer; as a float of the type's.
  Value read(Ref operand, unsigned bits);
  Value readFloat(Ref operand, Ref type);
  /// To a register of any width; of a wider one, the rest is zeros, or copies
  /// of the sign.
  void write(Ref operand, Value value, bool isSigned = false);
  void writeFloat(Ref operand, Value value, Ref type);
  /// Operands of "{%r1, _}".
  static llvm::SmallVector<std::string, 8> parts(Ref operand);
  /// A register that PTX has without a declaration; null of no such.
  Value specialRegister(Ref name, unsigned bits);
  Value address(Ref operand);
  /// Where a name's bytes are; null of no name.
  Value place(Ref name);
  Value variable(Ref name, const std::vector<Variable> &all, Value base);

  // Memory.cpp
  void load(const Instruction &of);
  void store(const Instruction &of);
  /// Where the bytes of an access are; `kind`: reads, writes.
  Value accessed(const Instruction &of, Ref operand, unsigned bytes,
                 uint32_t kind);
  bool isMultiple(Ref operand, unsigned bytes);
  /// Calls Services::access, unless granules say that it is not needed. `low`:
  /// what must be zero of the address; null: it is known.
  Value checkedAccess(const Instruction &of, Value number, Value low,
                      unsigned bytes, uint32_t kind);
  void move(const Instruction &of);
  bool atomic(const Instruction &of);
  void copyAsync(const Instruction &of);

  // Warp.cpp: what threads do together
  void barrier(const Instruction &of);
  bool ofWarp(const Instruction &of);
  void shuffle(const Instruction &of);
  void multiplyMatrices(const Instruction &of);
  void loadMatrix(const Instruction &of);
  /// Words of what the warp gives each thread.
  llvm::SmallVector<Value, 4> together(const Instruction &of, WarpOp op,
                                       Value mask, llvm::ArrayRef<Value> in,
                                       unsigned results);

  // Integers.cpp
  bool integerArithmetic(const Instruction &of);
  bool multiply(const Instruction &of);
  bool shift(const Instruction &of);
  Value bitField(Value value, const Instruction &of);
  Value quotient(bool isWhole, bool isSigned, Value a, Value b);
  bool bitArithmetic(const Instruction &of);
  bool carrying(const Instruction &of);
  bool funnelShift(const Instruction &of);

  // Arithmetic.cpp
  bool floatArithmetic(const Instruction &of);
  bool packedArithmetic(const Instruction &of);
  void compare(const Instruction &of);
  void compareHalves(const Instruction &of, llvm::CmpInst::Predicate predicate);
  void select(const Instruction &of);
  Value floatResult(const Instruction &of, llvm::ArrayRef<Value> operands);
  /// The float32 next to the exact result on the side of zero.
  Value towardZero(const Instruction &of, llvm::ArrayRef<Value> operands);
  Value fusedOf16(llvm::ArrayRef<Value> operands);
  Value approximated(Value number);
  /// Numbers below the least normal one become zeros of their sign.
  Value flushed(Value number);

  // Convert.cpp
  void convert(const Instruction &of);
  void convertPair(const Instruction &of);
  Value rounded(Value number, const Instruction &of);
  Value floatOf(Value bits, Ref type);
  Value bitsOfFloat(Value number, Ref type);
  Value roundToBfloat(Value number);
  /// A float32 that one more rounding to 16 bits takes to where rounding the
  /// float64 once would.
  Value roundToOdd(Value number);
  /// A float32 that rounds to 16 bits as the integer does.
  Value integerToFloat(Value integer, bool isSigned);

  const Function &kernel;
  const Module &module;
  const Symbols &symbols;
  const bool checked;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  llvm::Function *function = nullptr;
  Value parameters = nullptr, thread = nullptr, results = nullptr;
  Value locals = nullptr;
  Value carry = nullptr;                 // CC.CF
  Value given = nullptr, made = nullptr; // words for the warp, and of it
  llvm::StringMap<Register> registers;
  /// What the registers and names of addresses are known to be multiples of, in
  /// this block.
  llvm::StringMap<unsigned> multiples;
  llvm::StringMap<llvm::BasicBlock *> blocks;
  std::string problem; // of the statement that was not known
};

} // namespace shardc::test::ptx

#endif

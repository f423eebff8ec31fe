// PTX as it is written: the parts of a kernel, without what they mean. Syntax:
// NVIDIA, Parallel Thread Execution ISA 9.0, chapters 4 and 11. What NVPTX of
// LLVM prints is read; what is not known is an error.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_PTX_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_PTX_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc::test::ptx {

/// A statement that does something, or the label before one.
struct Instruction {
  /// Of a label this alone is set.
  std::string label;
  /// Runs where this register is true (false, if `negated`); empty: always.
  std::string predicate;
  bool negated = false;
  /// "add.rn.f32" as its three words.
  llvm::SmallVector<std::string, 6> words;
  /// As they are written: "%r1", "[%rd1+16]", "{%r1, %r2}", "0f3F800000".
  llvm::SmallVector<std::string, 5> operands;
  /// The whole statement, for errors.
  std::string text;

  llvm::StringRef name() const { return words.front(); }
  llvm::StringRef type() const { return words.back(); }
  bool has(llvm::StringRef word) const;
};

/// Bytes with a name: a parameter, or a variable of shared or local memory.
struct Variable {
  std::string name;
  int64_t offset = 0, bytes = 0; // from the begin of all of its kind
  int64_t elementBytes = 0;
};

/// .entry, or a .func that entries call.
struct Function {
  std::string name;
  /// Locals: .local, and .param of calls. An entry has no results, a .func no
  /// shared memory.
  std::vector<Variable> parameters, results, shared, locals;
  int64_t parameterBytes = 0, resultBytes = 0, sharedBytes = 0, localBytes = 0;
  /// Of .maxntid; 0 where it says none.
  int64_t mostThreads = 0;
  /// Bits of each register; 1 of a predicate.
  llvm::StringMap<unsigned> registers;
  std::vector<Instruction> body;
  /// Labels that brx.idx chooses from, by the label of their list.
  llvm::StringMap<llvm::SmallVector<std::string, 5>> branchTargets;
};

/// .global with its values.
struct Constant {
  std::string name, bytes;
};

struct Module {
  std::vector<Function> kernels, functions;
  std::vector<Constant> constants;
  /// Of all kernels, whose own is behind it.
  std::vector<Variable> shared;
  int64_t sharedBytes = 0;
  /// What a launch says the size of.
  std::vector<std::string> dynamicShared;
};

/// Fails with the statement that is not understood.
llvm::Expected<Module> parse(llvm::StringRef text);

/// Whether threads of a kernel wait for each other: those that do not can run
/// one after the other.
bool waits(const Function &kernel, const Module &module);

/// A module's text, by its parts.
class Pieces {
public:
  /// Fails where an entry has no end.
  static llvm::Expected<Pieces> of(llvm::StringRef text);
  /// The text of one kernel with all that it mentions; empty where there is no
  /// such kernel.
  std::string kernel(llvm::StringRef name) const;
  std::vector<std::string> kernels() const;

private:
  struct Piece {
    std::string name, text;
    bool isKernel = false;
  };
  std::vector<Piece> pieces;
};

/// Bits of a type's name: 16 of "bf16", 1 of "pred", 32 of "f16x2"; 0 of no
/// type.
unsigned bitsOf(llvm::StringRef type);

bool isFloatType(llvm::StringRef type);
bool isSignedType(llvm::StringRef type);

llvm::Error failure(const llvm::Twine &what, llvm::StringRef text);
std::string withoutComments(llvm::StringRef text);

} // namespace shardc::test::ptx

#endif

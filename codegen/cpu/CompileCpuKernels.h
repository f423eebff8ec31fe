// Compiles the functions of a @kernels module ahead of time for a CPU, into the
// bytes of one shared object.
#ifndef SHARDC_CODEGEN_CPU_COMPILECPUKERNELS_H
#define SHARDC_CODEGEN_CPU_COMPILECPUKERNELS_H

#include "codegen/cpu/CpuModel.h"
#include "codegen/kernels/KernelCache.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::cpu {

struct CpuOptions {
  /// "native", or a name that LLVM knows: x86-64-v3, x86-64-v4, znver4, ...
  std::string cpu = "native";
  kernels::KernelCache cache;
};

struct KernelInfo {
  /// The function's name in the module and in the shared object.
  std::string symbol;
  /// The number of independent work items: [begin, end) of a call lies in [0,
  /// extent).
  int64_t extent = 0;
};

struct CompiledObject {
  /// An ELF shared object that depends on nothing but libc, libm and libmvec.
  /// It is equal for equal input.
  std::string sharedObject;
  /// The kernels, in the order of the module's functions.
  std::vector<KernelInfo> kernels;
  /// The CPU's name as resolved ("native" is gone).
  std::string cpu;
  /// Why a kernel was not kept in the cache; empty where all were.
  std::string warning;
  double seconds = 0;
};

/// Compiles every function of `kernels` (linalg on tensors) to `void name(void
/// *const *arguments, int64_t begin, int64_t end)`: arguments are base pointers
/// of the inputs, then of the outputs, all row-major and contiguous. The module
/// itself is not changed. Fails on an unknown CPU, or on a body that is not
/// linalg, tensor, arith and math.
llvm::Expected<CompiledObject> compileCpuKernels(mlir::ModuleOp kernels,
                                                 const CpuOptions &options);

/// Does the same with a module that may be changed, and whose context has the
/// dialects of loadDialects.
llvm::Expected<CompiledObject> compileInPlace(mlir::ModuleOp kernels,
                                              const CpuOptions &options);

/// Loads the dialects that lowering needs, and their translations. It must be
/// called before compileObject, which may run on several threads.
void loadDialects(mlir::MLIRContext *context);

/// Returns the object file of a module of llvm.func whose bodies may still be
/// of scf, vector, arith and math ops. The module becomes LLVM's dialect.
llvm::FailureOr<std::string>
compileObject(mlir::ModuleOp module, const CpuModel &cpu, llvm::StringRef name);

} // namespace shardc::cpu

#endif

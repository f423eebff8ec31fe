// The files that a compilation reads and writes, as its options name them.
#ifndef SHARDC_TOOLS_SHARDC_COMPILERFILES_H
#define SHARDC_TOOLS_SHARDC_COMPILERFILES_H

#include "codegen/kernels/KernelCache.h"
#include "tools/shardc/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// Where --dump-phases-to puts the IR after a phase. `suffix`: of the target,
/// where there are several; what import brings is the same for all.
std::string phaseFile(const Options &options, Phase phase,
                      llvm::StringRef suffix);

/// Writes and prints the IR after a phase where that was asked for.
llvm::Error showPhase(const Options &options, Phase phase,
                      mlir::ModuleOp module, llvm::StringRef suffix);

/// The cache that --kernel-cache names; one that keeps nothing where it names
/// none, or where no kernel is compiled.
llvm::Expected<kernels::KernelCache> openKernelCache(const Options &options);

/// That no file is input and output, or two outputs. `suffixes`: of all targets;
/// `externalData` is what the model's file names, once it was read.
llvm::Error checkFiles(const Options &options,
                       llvm::ArrayRef<std::string> suffixes,
                       llvm::ArrayRef<std::string> externalData);

} // namespace shardc

#endif

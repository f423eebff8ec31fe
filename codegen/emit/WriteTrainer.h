// The trainer: one file, the runtime with plans, kernels and what else it needs
// appended (runtime/Container.h).
#ifndef SHARDC_CODEGEN_EMIT_WRITETRAINER_H
#define SHARDC_CODEGEN_EMIT_WRITETRAINER_H

#include "codegen/emit/EmitPlan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace shardc {

struct TrainerContents {
  std::string runtime; // path of the runtime executable
  /// What there is for each target: the bytes of a plan, and of its kernels;
  /// with --checkable the same of the unsharded one.
  struct Target {
    llvm::StringRef plan, kernels;
    llvm::StringRef unshardedPlan = {}, unshardedKernels = {};
  };
  llvm::SmallVector<Target, 2> targets;
  llvm::StringRef exportTemplate;        // empty: no section
  llvm::ArrayRef<EmbeddedRange> weights; // empty: no section
  std::string modelPath;                 // the ONNX file, for weights' ranges
  llvm::StringRef modelContent;          // not empty: what these lie in instead
};

/// Where the runtime executable lies beside `shardc`, of which `executable` is
/// the path: ../lib/shardc/trainer-runtime when installed, shardc-runtime in
/// the same folder in a build tree.
llvm::Expected<std::string> findRuntime(llvm::StringRef executable);

/// Writes the trainer to a temporary file in the folder of `path`, makes it
/// executable, and renames it: `path` is the whole trainer, or what was there
/// before. Equal contents give equal bytes. Errors are one line, without the
/// program's name.
llvm::Error writeTrainer(llvm::StringRef path, const TrainerContents &contents);

} // namespace shardc

#endif

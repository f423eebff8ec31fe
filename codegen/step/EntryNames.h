// What the entries of a program are called.
#ifndef SHARDC_CODEGEN_STEP_ENTRYNAMES_H
#define SHARDC_CODEGEN_STEP_ENTRYNAMES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace shardc::step {

/// Names the entries of one program, in their order: "layers.0/gemm", and the
/// second one of that name "layers.0/gemm.1". Plans, answers and pages have the
/// same names.
class EntryNames {
public:
  std::string next(mlir::Operation *entry);

private:
  llvm::StringMap<int64_t> counts;
};

/// The kind of an entry: its op's name without the dialect.
std::string entryKind(mlir::Operation *entry);

/// The ONNX nodes that an entry comes from, each once.
llvm::SetVector<llvm::StringRef> entryNodes(mlir::Operation *entry);

/// The name of the unit or the phase that step-lower noted for an entry; empty
/// where it is of none.
llvm::StringRef entryUnit(mlir::Operation *entry);
llvm::StringRef entryPhase(mlir::Operation *entry);

} // namespace shardc::step

#endif

// From a .onnx file to the import phase's IR (docs/architecture.md).
#ifndef SHARDC_FRONTEND_ONNX_IMPORT_H
#define SHARDC_FRONTEND_ONNX_IMPORT_H

#include "frontend/onnx/parameters/RoleChoices.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::onnx {

/// A model as read (ImportedModel.h), for what comes after the import.
struct ImportedModel;

struct ImportOptions {
  std::string path;
  /// Values of symbolic dims by name. A dim without a name is called
  /// INPUT.AXIS.
  llvm::StringMap<int64_t> dims;
  /// External data need not be there: the graph is compiled for reports or
  /// random initial values.
  bool allowMissingWeights = false;
  /// Which tensors are trained.
  RoleChoices roles;
  /// Outputs that are asked for: nodes that no other output needs are not looked
  /// at. None, or one that the graph has not: all.
  std::vector<std::string> outputs;
};

/// What importing found besides the module.
struct ImportDiagnostics {
  /// One line each, without "warning:".
  std::vector<std::string> warnings;
  /// Parameters that the exporter removed from the graph.
  std::vector<std::string> lostParameters;
  /// Tensors of which the file does not say whether they are trained, and what
  /// was decided.
  std::vector<RoleNote> roles;
  /// Set where the import succeeds.
  std::shared_ptr<const ImportedModel> model;
};

/// Null after one emitted error, which names file, node, op and what to do.
/// Warnings are not emitted: they are for the caller to show.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext *context,
                                             const ImportOptions &options,
                                             ImportDiagnostics &diagnostics);

} // namespace shardc::onnx

#endif

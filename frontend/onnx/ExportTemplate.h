// The graph as `--export-onnx` writes it: names unchanged, merged initializers
// split again, weights left out.
#ifndef SHARDC_FRONTEND_ONNX_EXPORTTEMPLATE_H
#define SHARDC_FRONTEND_ONNX_EXPORTTEMPLATE_H

#include "frontend/onnx/Import.h"
#include "frontend/onnx/file/ByteRange.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace shardc::onnx {

/// An initializer that the export adds to the template. Data is little-endian,
/// in the type that the graph declares.
struct TemplateInitializer {
  std::string name;
  /// The parameter whose trained values it gets; empty: copied from `source`.
  std::string parameter;
  /// It is the parameter's transpose.
  bool transposed = false;
  ByteRange source;
  /// As in the graph.
  llvm::SmallVector<int64_t> dims;
  /// TensorProto.DataType.
  int dtype = 0;
};

struct ExportTemplate {
  /// A serialized ModelProto that lacks `initializers`; small constants are in
  /// it.
  std::string model;
  std::vector<TemplateInitializer> initializers;
};

/// Initializers that stood for several parameters become
/// one for each, under the parameter's name; an Identity that gave a merged
/// parameter its name becomes an initializer.
ExportTemplate makeExportTemplate(const ImportedModel &model);

/// The whole model with the values that it was imported with, as one file; an
/// error where data is missing.
llvm::Expected<std::string> exportInitialValues(const ImportedModel &model);

} // namespace shardc::onnx

#endif

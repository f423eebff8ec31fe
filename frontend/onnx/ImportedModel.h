// A model as read, for what comes after the import: the ONNX export.
#ifndef SHARDC_FRONTEND_ONNX_IMPORTEDMODEL_H
#define SHARDC_FRONTEND_ONNX_IMPORTEDMODEL_H

#include "frontend/onnx/Parameters.h"

namespace shardc::onnx {

struct ImportedModel {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Flattener> flattener;
  /// The flat graph; the flattener owns what was inlined.
  std::vector<Node> nodes;
  ParameterTable parameters;
};

} // namespace shardc::onnx

#endif

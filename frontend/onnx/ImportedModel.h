// A model as read, for what comes after the import: the ONNX export.
#ifndef SHARDC_FRONTEND_ONNX_IMPORTEDMODEL_H
#define SHARDC_FRONTEND_ONNX_IMPORTEDMODEL_H

#include "frontend/onnx/parameters/Parameters.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc::onnx {

struct ImportedModel {
  /// Reads and inlines the graph, and recovers its parameters; an error of one
  /// line, which names the file, where it is not the model that PyTorch trains.
  /// `allowMissingWeights`: external data need not be there.
  static llvm::Expected<std::shared_ptr<const ImportedModel>>
  read(const std::string &path, const RoleChoices &roles,
       bool allowMissingWeights);

  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Flattener> flattener;
  /// The flat graph, and behind its nodes those of the bodies of its Ifs, Loops
  /// and Scans; the flattener owns what was inlined.
  std::vector<Node> nodes;
  size_t graphNodes = 0;
  /// By node and body (0: else; 1: then, or the only one): where the body's nodes
  /// begin and end.
  llvm::DenseMap<std::pair<int, int>, std::pair<int, int>> bodies;
  ParameterTable parameters;
};

} // namespace shardc::onnx

#endif

// From a file to its flat graph and the parameters in it.
#include "frontend/onnx/ImportedModel.h"

#include "frontend/onnx/Names.h"

using llvm::Twine;

namespace shardc::onnx {

/// Appends the nodes of all bodies, those of nested ones too: what they read
/// of the graph's initializers are uses like all others.
static llvm::Error flattenBodies(ImportedModel &model) {
  model.graphNodes = model.nodes.size();
  for (size_t index = 0; index < model.nodes.size(); ++index) {
    const Node node = model.nodes[index];
    llvm::StringRef op = node.proto->op_type();
    if (op != "If" && op != "Loop" && op != "Scan")
      continue;
    for (const ::onnx::AttributeProto &attribute : node.proto->attribute()) {
      bool isElse = attribute.name() == "else_branch";
      if (!attribute.has_g() || (!isElse && attribute.name() != "then_branch" &&
                                 attribute.name() != "body"))
        continue;
      int begin = model.nodes.size();
      if (llvm::Error error = model.flattener->flatten(
              attribute.g().node(), model.nodes, node.origin))
        return error;
      model.bodies[{int(index), int(!isElse)}] = {begin,
                                                  int(model.nodes.size())};
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const ImportedModel>>
ImportedModel::read(const std::string &path, const RoleChoices &roles,
                    bool allowMissingWeights) {
  auto opened = ModelFile::open(path, allowMissingWeights);
  if (!opened)
    return opened.takeError();
  auto model = std::make_shared<ImportedModel>();
  model->file = std::move(*opened);
  model->flattener = std::make_unique<Flattener>(*model->file);
  if (llvm::Error error =
          model->flattener->flatten(model->file->graph().node(), model->nodes))
    return error;
  if (llvm::Error error = flattenBodies(*model))
    return error;
  model->parameters =
      ParameterTable::recover(*model->file, model->nodes, roles);
  if (llvm::ArrayRef<std::string> problems = model->parameters.problems();
      !problems.empty())
    return llvm::createStringError(
        "'" + path + "': " + problems.front() +
        (problems.size() > 1
             ? " (and " + Twine(problems.size() - 1) + " more like it)"
             : Twine()));
  if (llvm::Error error = checkNames(*model))
    return llvm::createStringError("'" + path +
                                   "': " + llvm::toString(std::move(error)));
  return model;
}

} // namespace shardc::onnx

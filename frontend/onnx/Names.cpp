// The names of a model.
#include "frontend/onnx/Names.h"
#include "frontend/onnx/ImportedModel.h"

#include "llvm/Support/JSON.h"

using llvm::StringRef;

namespace shardc::onnx {

llvm::Error checkNames(const ImportedModel &model) {
  auto check = [](StringRef what, StringRef name) {
    return llvm::json::isUTF8(name)
               ? llvm::Error::success()
               : llvm::createStringError(what + " '" + name +
                                         "': its name is no UTF-8; rename it "
                                         "in the model");
  };
  const ::onnx::GraphProto &graph = model.file->graph();
  for (const Initializer &initializer : model.file->initializers())
    if (llvm::Error error = check("initializer", initializer.name))
      return error;
  for (const auto &input : graph.input())
    if (llvm::Error error = check("input", input.name()))
      return error;
  for (const auto &output : graph.output())
    if (llvm::Error error = check("output", output.name()))
      return error;
  for (const Node &node : model.nodes)
    if (llvm::Error error = check("node", node.name))
      return error;
  for (const Parameter &parameter : model.parameters.parameters()) {
    if (llvm::Error error = check("parameter", parameter.name))
      return error;
    for (StringRef alias : parameter.aliases)
      if (llvm::Error error = check("parameter", alias))
        return error;
  }
  return llvm::Error::success();
}

} // namespace shardc::onnx

// Nodes of one call name it alike, and read each other.
#include "frontend/onnx/graph/SplitCalls.h"
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/ADT/StringMap.h"

using llvm::StringRef;

namespace shardc::onnx {

llvm::DenseMap<int, CallPart> findSplitCalls(llvm::ArrayRef<Node> nodes) {
  llvm::DenseMap<int, CallPart> parts;
  struct Made {
    int node;
    StringRef call; // the name of what it returns
  };
  llvm::StringMap<Made> values; // that nodes of such calls make
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (!metadata(*node.proto, "pkg.torch.onnx.fx_node")
             .contains("linalg_vector_norm"))
      continue;
    FxCall call = fxCall(*node.proto);
    if (call.target != "torch.ops.aten.linalg_vector_norm.default")
      continue;
    for (const std::string &input : node.proto->input())
      if (auto value = values.find(input);
          value != values.end() && value->second.call == call.result)
        parts[value->second.node] = CallPart::Inside;
    parts[int(index)] = CallPart::Result;
    for (const std::string &output : node.proto->output())
      values[output] = {int(index), call.result};
  }
  return parts;
}

} // namespace shardc::onnx

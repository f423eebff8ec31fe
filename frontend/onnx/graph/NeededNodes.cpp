// A walk from the outputs back.
#include "frontend/onnx/graph/NeededNodes.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::onnx {

void addReads(const ::onnx::GraphProto &branch, llvm::StringSet<> &names) {
  llvm::SmallVector<const ::onnx::GraphProto *> open = {&branch};
  while (!open.empty()) {
    const ::onnx::GraphProto &graph = *open.pop_back_val();
    for (const auto &output : graph.output())
      names.insert(output.name());
    for (const ::onnx::NodeProto &node : graph.node()) {
      for (const std::string &input : node.input())
        names.insert(input);
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          open.push_back(&attribute.g());
    }
  }
}

llvm::BitVector neededNodes(llvm::ArrayRef<Node> nodes,
                            llvm::ArrayRef<std::string> outputs) {
  llvm::BitVector needed(nodes.size());
  llvm::StringSet<> names;
  for (const std::string &output : outputs)
    names.insert(output);
  for (size_t index = nodes.size(); index-- > 0;) {
    const ::onnx::NodeProto &proto = *nodes[index].proto;
    if (llvm::none_of(proto.output(), [&](const std::string &output) {
          return names.contains(output);
        }))
      continue;
    needed.set(index);
    for (const std::string &input : proto.input())
      names.insert(input);
    for (const auto &attribute : proto.attribute())
      if (attribute.has_g())
        addReads(attribute.g(), names);
  }
  return needed;
}

std::vector<std::string> importedOutputs(const ::onnx::GraphProto &graph,
                                         llvm::ArrayRef<std::string> askedFor) {
  std::vector<std::string> all, chosen;
  for (const auto &output : graph.output()) {
    all.push_back(output.name());
    if (llvm::is_contained(askedFor, output.name()))
      chosen.push_back(output.name());
  }
  bool areKnown = llvm::all_of(askedFor, [&](const std::string &name) {
    return llvm::is_contained(all, name);
  });
  return areKnown && !chosen.empty() ? chosen : all;
}

} // namespace shardc::onnx

// One walk over the nodes, in order: an Identity stands before what reads it.
#include "frontend/onnx/graph/Readers.h"
#include "frontend/onnx/graph/Exporter.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace shardc::onnx {

Readers::Readers(const ModelFile &file, llvm::ArrayRef<Node> nodes) {
  llvm::StringMap<std::pair<const Initializer *, std::string>> aliases;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (auto [position, input] : llvm::enumerate(node.proto->input())) {
      consumersOf[input].emplace_back(index, position);
      const Initializer *initializer = file.find(input);
      std::string alias;
      if (auto entry = aliases.find(input); entry != aliases.end())
        std::tie(initializer, alias) = entry->second;
      if (!initializer)
        continue;
      if (node.proto->op_type() == "Identity" &&
          node.proto->output_size() == 1) {
        // An Identity of an Identity keeps the name that is furthest from the
        // initializer; its own read means the parameter that it stands for.
        StringRef output = node.proto->output(0);
        if (!isGeneratedName(output))
          alias = output.str();
        aliases[output] = {initializer, alias};
      }
      readersOf[initializer].push_back(
          {int(index), int(position), alias, !file.find(input)});
      readAt[{int(index), int(position)}] = initializer;
    }
  }
}

} // namespace shardc::onnx

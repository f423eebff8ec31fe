// Parsing of the exporters' traces.
#include "frontend/onnx/graph/Exporter.h"
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace shardc::onnx {
namespace {

/// The strings of a Python list, "['', 'layers.0', 'linear']".
std::vector<std::string> pythonStrings(StringRef text) {
  std::vector<std::string> result;
  while (true) {
    size_t open = text.find_first_of("'\"");
    if (open == StringRef::npos)
      return result;
    char quote = text[open];
    size_t close = text.find(quote, open + 1);
    if (close == StringRef::npos)
      return result;
    result.push_back(text.slice(open + 1, close).str());
    text = text.drop_front(close + 1);
  }
}

} // namespace

bool isPyTorchs(const ModelFile &file) {
  return file.model().producer_name() == "pytorch";
}

GraphSignature readSignature(const ::onnx::GraphProto &graph) {
  // Lines such as: p_lm_head_weight: PARAMETER target='lm_head.weight'
  GraphSignature result;
  llvm::SmallVector<StringRef> lines;
  metadata(graph, "pkg.torch.export.ExportedProgram.graph_signature")
      .split(lines, '\n');
  for (StringRef line : lines) {
    auto [placeholder, what] = line.trim().split(": ");
    auto [kind, target] = what.split(" target=");
    std::vector<std::string> names = pythonStrings(target);
    if (names.empty())
      continue;
    result.present = true;
    if (kind == "BUFFER")
      result.buffers.insert(names[0]);
    if (kind == "BUFFER_MUTATION")
      result.changed.insert(names[0]);
    if (kind == "BUFFER" || kind == "PARAMETER")
      result.placeholders[placeholder] = names[0];
    if (kind == "PARAMETER" &&
        result.order.try_emplace(names[0], result.parameters.size()).second)
      result.parameters.push_back(names[0]);
  }
  return result;
}

std::vector<std::string> tensorArguments(const ::onnx::NodeProto &node,
                                         const GraphSignature &signature) {
  std::vector<std::string> result;
  FxCall call = fxCall(node); // its values point into it
  for (StringRef value : call.values())
    if (auto tensor = signature.placeholders.find(value);
        tensor != signature.placeholders.end())
      result.push_back(tensor->second);
  return result;
}

std::vector<std::string> parameterArguments(const ::onnx::NodeProto &node,
                                            const GraphSignature &signature) {
  std::vector<std::string> result = tensorArguments(node, signature);
  llvm::erase_if(result, [&](const std::string &name) {
    return !signature.isParameter(name);
  });
  return result;
}

StringRef fxTarget(const ::onnx::NodeProto &node) {
  return fxCall(node).target;
}

StringRef fxFunction(StringRef value) {
  StringRef function = value.rtrim("0123456789");
  return function.size() < value.size() && function.consume_back("_") &&
                 !function.empty()
             ? function
             : value;
}

std::vector<std::string> foldedFrom(const ::onnx::ValueInfoProto &value) {
  return pythonStrings(metadata(value, "pkg.onnxscript.optimizer.folded_from"));
}

std::string moduleScope(const Node &node) {
  StringRef scopes = metadata(*node.proto, "pkg.torch.onnx.name_scopes");
  if (!scopes.empty()) {
    // The last entry is the operation, the one before the innermost module.
    std::vector<std::string> path = pythonStrings(scopes);
    return path.size() >= 2 ? path[path.size() - 2] : std::string();
  }
  // /blocks.0/mlp/mlp.0/MatMul: modules of a container repeat its name.
  StringRef name = node.proto->name();
  if (!name.consume_front("/"))
    return {};
  llvm::SmallVector<StringRef> parts, path;
  name.split(parts, '/');
  for (StringRef part : llvm::ArrayRef(parts).drop_back()) {
    if (!path.empty() && part.starts_with((path.back() + ".").str()))
      path.back() = part;
    else
      path.push_back(part);
  }
  return llvm::join(path, ".");
}

std::map<std::string, std::string> moduleClasses(llvm::ArrayRef<Node> nodes) {
  std::map<std::string, std::string> result;
  for (const Node &node : nodes) {
    StringRef scopes = metadata(*node.proto, "pkg.torch.onnx.name_scopes");
    StringRef classes = metadata(*node.proto, "pkg.torch.onnx.class_hierarchy");
    if (scopes.empty() || classes.empty())
      continue;
    // Entry by entry; the first is the model itself, the last the operation.
    std::vector<std::string> path = pythonStrings(scopes),
                             names = pythonStrings(classes);
    if (path.size() != names.size())
      continue;
    for (size_t index = 0; index + 1 < path.size(); ++index)
      if (!path[index].empty())
        result.try_emplace(path[index], names[index]);
  }
  return result;
}

bool isGeneratedName(StringRef name) {
  StringRef digits = name;
  if (digits.consume_front("val_") || digits.consume_front("_val_") ||
      !name.contains('_'))
    if (llvm::all_of(digits, llvm::isDigit))
      return true;
  return name.contains("::") || name.starts_with("/") ||
         name.starts_with("const_") || name.contains("_output_0") ||
         name.starts_with("Constant");
}

bool differInNumbersOnly(StringRef lhs, StringRef rhs) {
  llvm::SmallVector<StringRef> left, right;
  lhs.split(left, '.');
  rhs.split(right, '.');
  if (left.size() != right.size() || lhs == rhs)
    return false;
  auto isNumber = [](StringRef part) {
    return !part.empty() && llvm::all_of(part, llvm::isDigit);
  };
  for (auto [a, b] : llvm::zip(left, right))
    if (a != b && !(isNumber(a) && isNumber(b)))
      return false;
  return true;
}

} // namespace shardc::onnx

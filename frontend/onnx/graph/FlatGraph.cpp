// Inlining of model-local functions: values and nodes get the call's name in
// front, attribute references are resolved.
#include "frontend/onnx/graph/FlatGraph.h"
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/graph/Exporter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using google::protobuf::RepeatedPtrField;
using llvm::StringRef;
using llvm::Twine;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

namespace shardc::onnx {

/// A name of this length says where a node is; with those of all the calls
/// around it, deep nesting would take memory in its square.
constexpr size_t longestPrefix = 256;

llvm::Error Flattener::flatten(const RepeatedPtrField<NodeProto> &nodes,
                               std::vector<Node> &result, int origin) {
  llvm::Expected<int64_t> count = functions.countInlined(nodes);
  if (!count)
    return count.takeError();
  if (llvm::AddOverflow(appended, *count, appended))
    appended = INT64_MAX;
  if (appended > maxNodes)
    return llvm::createStringError(
        "'" + file.path() + "': the graph has " +
        (appended == INT64_MAX ? "more than 2^63" : Twine(appended)) +
        " nodes with its functions inlined, the limit is " + Twine(maxNodes) +
        "; split the model, or call its functions less often");
  for (auto [index, node] : llvm::enumerate(nodes)) {
    int from = origin < 0 ? int(index) : origin;
    if (llvm::Error error =
            append(node, "", file.opset(node.domain()), from, result))
      return error;
    while (!open.empty()) {
      Call &call = *open.back();
      if (call.next == call.function->node_size()) {
        open.pop_back();
        continue;
      }
      const NodeProto &inner = call.function->node(call.next++);
      NodeProto &copy = owned.emplace_back(inner);
      substitute(copy, call.names, call.attributes, call.valuePrefix);
      int64_t opset = file.opset(inner.domain());
      for (const auto &entry : call.function->opset_import())
        if (sameDomain(entry.domain(), inner.domain()))
          opset = entry.version();
      if (llvm::Error error = append(copy, call.prefix, opset, from, result))
        return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error Flattener::append(const NodeProto &node, StringRef prefix,
                              int64_t opset, int origin,
                              std::vector<Node> &result) {
  std::string name = node.name();
  if (name.empty())
    name = node.op_type() + ":" +
           (node.output_size() ? node.output(0) : std::string());
  name = (prefix + name).str();
  if (const FunctionProto *function = functions.find(node))
    return openCall(node, name, *function);
  result.push_back(
      {&node, std::move(name), opset, origin, onnx::isPyTorchs(file)});
  return llvm::Error::success();
}

llvm::Error Flattener::openCall(const NodeProto &node, StringRef name,
                                const FunctionProto &function) {
  if (node.input_size() > function.input_size() ||
      node.output_size() > function.output_size())
    return llvm::createStringError(
        "'" + file.path() + "': node '" + name + "': function '" +
        function.name() + "' takes at most " + Twine(function.input_size()) +
        " inputs and gives " + Twine(function.output_size()) +
        " outputs, got " + Twine(node.input_size()) + " and " +
        Twine(node.output_size()));
  Call &call = *open.emplace_back(std::make_unique<Call>());
  call.function = &function;
  std::string number = std::to_string(++calls);
  call.prefix =
      name.size() < longestPrefix
          ? (name + "/").str()
          : (name.take_front(longestPrefix / 2) + "...#" + number + "/").str();
  call.valuePrefix = call.prefix + number + ":";
  for (int i = 0; i < function.input_size(); ++i)
    call.names[function.input(i)] =
        i < node.input_size() ? node.input(i) : std::string();
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      call.names[function.output(i)] = node.output(i);
  call.defaults = defaultAttributes(function);
  for (const AttributeProto &attribute : call.defaults)
    call.attributes[attribute.name()] = &attribute;
  for (const AttributeProto &attribute : node.attribute())
    call.attributes[attribute.name()] = &attribute;
  return llvm::Error::success();
}

void Flattener::substitute(NodeProto &node, Names &names,
                           const Attributes &attributes, StringRef prefix) {
  auto rename = [&](std::string &value) {
    if (value.empty())
      return;
    auto [entry, inserted] = names.try_emplace(value);
    if (inserted)
      entry->second = (prefix + value).str();
    value = entry->second;
  };
  for (std::string &value : *node.mutable_input())
    rename(value);
  for (std::string &value : *node.mutable_output())
    rename(value);
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    AttributeProto &attribute = *node.mutable_attribute(i);
    if (!attribute.ref_attr_name().empty()) {
      auto given = attributes.find(attribute.ref_attr_name());
      if (given ==
          attributes.end()) { // an optional attribute that the call leaves out
        node.mutable_attribute()->DeleteSubrange(i, 1);
        continue;
      }
      std::string attributeName = attribute.name();
      attribute = *given->second;
      attribute.set_name(attributeName);
    }
    if (attribute.has_g())
      for (NodeProto &inner : *attribute.mutable_g()->mutable_node())
        substitute(inner, names, attributes, prefix);
    if (attribute.has_g())
      for (auto &input : *attribute.mutable_g()->mutable_input())
        rename(*input.mutable_name());
    if (attribute.has_g())
      for (auto &output : *attribute.mutable_g()->mutable_output())
        rename(*output.mutable_name());
    if (attribute.has_g())
      for (auto &tensor : *attribute.mutable_g()->mutable_initializer())
        rename(*tensor.mutable_name());
  }
}

} // namespace shardc::onnx

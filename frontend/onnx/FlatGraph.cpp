// Inlining of model-local functions: values and nodes get the call's name in
// front, attribute references are resolved.
#include "frontend/onnx/FlatGraph.h"
#include "frontend/onnx/Metadata.h"

#include "llvm/ADT/STLExtras.h"

using google::protobuf::RepeatedPtrField;
using llvm::StringRef;
using llvm::Twine;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace shardc::onnx {
namespace {

// Nested functions can grow exponentially; no real model comes near.
constexpr size_t maxNodes = 1 << 17;

bool sameDomain(StringRef lhs, StringRef rhs) {
  auto plain = [](StringRef domain) {
    return domain == "ai.onnx" ? StringRef() : domain;
  };
  return plain(lhs) == plain(rhs);
}

} // namespace

const FunctionProto *Flattener::findFunction(const NodeProto &node) const {
  for (const FunctionProto &function : file.model().functions())
    if (function.name() == node.op_type() &&
        sameDomain(function.domain(), node.domain()) &&
        overloadOf(function) == overloadOf(node))
      return &function;
  return nullptr;
}

llvm::Error Flattener::flatten(const RepeatedPtrField<NodeProto> &nodes,
                               std::vector<Node> &result, int origin) {
  for (auto [index, node] : llvm::enumerate(nodes))
    if (llvm::Error error = append(node, "", file.opset(node.domain()),
                                   origin < 0 ? int(index) : origin, result))
      return error;
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
  if (const FunctionProto *function = findFunction(node))
    return inlineCall(node, name, *function, origin, result);
  if (result.size() >= maxNodes)
    return makeError("'" + file.path() + "': the graph has more than " +
                     Twine(maxNodes) + " nodes with its functions inlined");
  result.push_back({&node, std::move(name), opset, origin});
  return llvm::Error::success();
}

llvm::Error Flattener::inlineCall(const NodeProto &call, StringRef name,
                                  const FunctionProto &function, int origin,
                                  std::vector<Node> &result) {
  auto fail = [&](const Twine &what) {
    return makeError("'" + file.path() + "': node '" + name + "': function '" +
                     function.name() + "' " + what);
  };
  if (llvm::is_contained(callStack, &function))
    return fail("calls itself; recursive functions are not supported");
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size())
    return fail("takes at most " + Twine(function.input_size()) +
                " inputs and gives " + Twine(function.output_size()) +
                " outputs, got " + Twine(call.input_size()) + " and " +
                Twine(call.output_size()));
  if (++calls > maxNodes)
    return fail("is called more than " + Twine(maxNodes) + " times");

  std::string prefix = (name + "/").str();
  std::string valuePrefix = prefix + std::to_string(calls) + ":";
  Names names;
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] =
        i < call.input_size() ? call.input(i) : std::string();
  for (int i = 0; i < call.output_size(); ++i)
    if (!call.output(i).empty())
      names[function.output(i)] = call.output(i);

  std::vector<AttributeProto> defaults = defaultAttributes(function);
  Attributes attributes;
  for (const AttributeProto &attribute : defaults)
    attributes[attribute.name()] = &attribute;
  for (const AttributeProto &attribute : call.attribute())
    attributes[attribute.name()] = &attribute;

  callStack.push_back(&function);
  for (const NodeProto &inner : function.node()) {
    NodeProto &copy = owned.emplace_back(inner);
    substitute(copy, names, attributes, valuePrefix);
    int64_t opset = file.opset(inner.domain());
    for (const auto &entry : function.opset_import())
      if (sameDomain(entry.domain(), inner.domain()))
        opset = entry.version();
    if (llvm::Error error = append(copy, prefix, opset, origin, result))
      return error;
  }
  callStack.pop_back();
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
      for (auto &output : *attribute.mutable_g()->mutable_output())
        rename(*output.mutable_name());
  }
}

} // namespace shardc::onnx

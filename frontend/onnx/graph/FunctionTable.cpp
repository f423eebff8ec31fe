// Counts what inlining makes, function by function, those first that others
// call: without recursion, since functions nest as deep as they like.
#include "frontend/onnx/graph/FunctionTable.h"
#include "frontend/onnx/file/Metadata.h"

#include "llvm/Support/MathExtras.h"

using google::protobuf::RepeatedPtrField;
using llvm::StringRef;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

namespace shardc::onnx {

static StringRef plainDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

bool sameDomain(StringRef lhs, StringRef rhs) {
  return plainDomain(lhs) == plainDomain(rhs);
}

static std::string keyOf(StringRef domain, StringRef name, StringRef overload) {
  std::string key = plainDomain(domain).str();
  for (StringRef part : {name, overload}) {
    key += '\0';
    key += part;
  }
  return key;
}

FunctionTable::FunctionTable(const ModelFile &file) : file(file) {
  for (const FunctionProto &function : file.model().functions())
    byName.try_emplace(
        keyOf(function.domain(), function.name(), overloadOf(function)),
        &function);
}

const FunctionProto *FunctionTable::find(const NodeProto &node) const {
  if (byName.empty())
    return nullptr;
  return byName.lookup(keyOf(node.domain(), node.op_type(), overloadOf(node)));
}

FunctionTable::Functions
FunctionTable::calledBy(const RepeatedPtrField<NodeProto> &nodes) const {
  Functions called;
  llvm::SmallVector<const RepeatedPtrField<NodeProto> *> lists = {&nodes};
  while (!lists.empty())
    for (const NodeProto &node : *lists.pop_back_val()) {
      if (const FunctionProto *function = find(node))
        called.push_back(function);
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          lists.push_back(&attribute.g().node());
    }
  return called;
}

int64_t FunctionTable::sum(const RepeatedPtrField<NodeProto> &nodes) const {
  int64_t total = nodes.size();
  for (const NodeProto &node : nodes)
    if (const FunctionProto *function = find(node);
        function && llvm::AddOverflow(total, counts.lookup(function), total))
      return INT64_MAX;
  return total;
}

llvm::Error FunctionTable::countFunction(const FunctionProto &function) {
  struct Open {
    const FunctionProto *function;
    Functions called;
    size_t next = 0;
  };
  // A function is open while what it calls is counted.
  constexpr int64_t isOpen = -1;
  std::vector<Open> open;
  auto enter = [&](const FunctionProto *entered) {
    counts[entered] = isOpen;
    open.push_back({entered, calledBy(entered->node())});
  };
  if (!counts.contains(&function))
    enter(&function);
  while (!open.empty()) {
    Open &current = open.back();
    if (current.next == current.called.size()) {
      counts[current.function] = sum(current.function->node());
      open.pop_back();
      continue;
    }
    const FunctionProto *called = current.called[current.next++];
    auto known = counts.find(called);
    if (known == counts.end())
      enter(called);
    else if (known->second == isOpen)
      return llvm::createStringError(
          "'" + file.path() + "': function '" + called->name() +
          "' calls itself; recursive functions are not "
          "supported");
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t>
FunctionTable::countInlined(const RepeatedPtrField<NodeProto> &nodes) {
  if (!byName.empty())
    for (const FunctionProto *function : calledBy(nodes))
      if (llvm::Error error = countFunction(*function))
        return std::move(error);
  return sum(nodes);
}

} // namespace shardc::onnx

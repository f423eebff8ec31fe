// Reads the newer fields of ONNX messages; numbers are those of onnx.proto 1.16
// and later.
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/file/WireFormat.h"

using llvm::StringRef;

namespace shardc::onnx {
namespace {

/// Calls `visit` with each length-delimited field `number`, until it returns
/// true.
template <typename Visit>
void forEachField(StringRef message, uint64_t number, Visit visit) {
  for (FieldReader reader(message); !reader.done();) {
    std::optional<Field> field = reader.next();
    if (!field || (field->number == number && field->wireType == 2 &&
                   visit(field->payload)))
      return;
  }
}

StringRef stringField(StringRef message, uint64_t number) {
  StringRef result;
  forEachField(message, number, [&](StringRef payload) {
    result = payload;
    return true;
  });
  return result;
}

/// metadata_props is a list of messages {1: key, 2: value}.
StringRef property(StringRef unknownFields, uint64_t number, StringRef key) {
  StringRef result;
  forEachField(unknownFields, number, [&](StringRef entry) {
    if (stringField(entry, 1) != key)
      return false;
    result = stringField(entry, 2);
    return true;
  });
  return result;
}

} // namespace

StringRef metadata(const ::onnx::NodeProto &node, StringRef key) {
  return property(node.unknown_fields(), 9, key);
}
StringRef metadata(const ::onnx::GraphProto &graph, StringRef key) {
  return property(graph.unknown_fields(), 16, key);
}
StringRef metadata(const ::onnx::ValueInfoProto &value, StringRef key) {
  return property(value.unknown_fields(), 4, key);
}

StringRef overloadOf(const ::onnx::NodeProto &node) {
  return stringField(node.unknown_fields(), 8);
}
StringRef overloadOf(const ::onnx::FunctionProto &function) {
  return stringField(function.unknown_fields(), 13);
}

std::vector<::onnx::AttributeProto>
defaultAttributes(const ::onnx::FunctionProto &function) {
  std::vector<::onnx::AttributeProto> result;
  forEachField(function.unknown_fields(), 11, [&](StringRef payload) {
    if (::onnx::AttributeProto attribute;
        attribute.ParseFromArray(payload.data(), int(payload.size())))
      result.push_back(std::move(attribute));
    return false;
  });
  return result;
}

} // namespace shardc::onnx

// Copies ModelProto -> graph -> initializer field by field, leaving out large
// raw_data, float_data and double_data.
#include "frontend/onnx/file/WireFormat.h"

#include "llvm/ADT/SmallVector.h"

using llvm::StringRef;

namespace shardc::onnx {

std::optional<Field> FieldReader::next() {
  const char *begin = rest.data();
  uint64_t tag, value;
  if (!varint(tag) || (tag >> 3) == 0)
    return std::nullopt;
  Field field;
  field.number = tag >> 3;
  field.wireType = tag & 7;
  switch (field.wireType) {
  case 0:
    if (!varint(value))
      return std::nullopt;
    break;
  case 1:
    if (!skip(8))
      return std::nullopt;
    break;
  case 2:
    if (!varint(value) || value > rest.size())
      return std::nullopt;
    field.payload = rest.take_front(value);
    skip(value);
    break;
  case 5:
    if (!skip(4))
      return std::nullopt;
    break;
  default: // groups do not occur in ONNX
    return std::nullopt;
  }
  field.whole = StringRef(begin, rest.data() - begin);
  return field;
}

bool FieldReader::skip(size_t count) {
  if (count > rest.size())
    return false;
  rest = rest.drop_front(count);
  return true;
}

bool FieldReader::varint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    unsigned char byte = rest.front();
    rest = rest.drop_front();
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

namespace {

// Field numbers of onnx.proto.
constexpr uint64_t modelGraph = 7, graphInitializer = 5, tensorFloatData = 4,
                   tensorRawData = 9, tensorDoubleData = 10;
constexpr size_t keptBytes = 4096;

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(char(value | 0x80));
  out.push_back(char(value));
}

void appendMessage(std::string &out, uint64_t number, StringRef payload) {
  appendVarint(out, number << 3 | 2);
  appendVarint(out, payload.size());
  out.append(payload.data(), payload.size());
}

class Stripper {
public:
  explicit Stripper(StringRef model) : model(model) {}

  std::optional<StrippedModel> run() {
    FieldReader reader(model);
    while (!reader.done()) {
      std::optional<Field> field = reader.next();
      if (!field)
        return std::nullopt;
      if (field->number != modelGraph || field->wireType != 2) {
        result.bytes.append(field->whole.data(), field->whole.size());
        continue;
      }
      std::string graph;
      if (!stripGraph(field->payload, graph))
        return std::nullopt;
      appendMessage(result.bytes, modelGraph, graph);
    }
    return std::move(result);
  }

private:
  bool stripGraph(StringRef graph, std::string &out) {
    FieldReader reader(graph);
    while (!reader.done()) {
      std::optional<Field> field = reader.next();
      if (!field)
        return false;
      if (field->number != graphInitializer || field->wireType != 2) {
        out.append(field->whole.data(), field->whole.size());
        continue;
      }
      std::string tensor;
      if (!stripTensor(field->payload, tensor))
        return false;
      appendMessage(out, graphInitializer, tensor);
    }
    return true;
  }

  bool stripTensor(StringRef tensor, std::string &out) {
    auto isData = [](const Field &field) {
      return field.number == tensorFloatData || field.number == tensorRawData ||
             field.number == tensorDoubleData;
    };
    // First find the data: only one contiguous piece is a byte range.
    StringRef data;
    bool isRaw = false;
    unsigned pieces = 0;
    for (FieldReader reader(tensor); !reader.done();) {
      std::optional<Field> field = reader.next();
      if (!field)
        return false;
      if (!isData(*field))
        continue;
      pieces += field->wireType == 2 ? 1 : 2;
      data = field->payload;
      isRaw = field->number == tensorRawData;
    }
    bool range = pieces == 1 && data.data();
    result.data.push_back(range ? StoredData{data.data() - model.data(),
                                             int64_t(data.size()), isRaw}
                                : StoredData());
    for (FieldReader reader(tensor); !reader.done();) {
      Field field = *reader.next();
      if (range && isData(field) && data.size() > keptBytes)
        continue;
      out.append(field.whole.data(), field.whole.size());
    }
    return true;
  }

  StringRef model;
  StrippedModel result;
};

} // namespace

std::optional<StrippedModel> stripWeights(StringRef model) {
  return Stripper(model).run();
}

int64_t branchNesting(StringRef model) {
  enum Kind { Model, Graph, Function, Node, Attribute };
  struct Message {
    Kind kind;
    StringRef bytes;
    int64_t nesting;
  };
  // What a field of a message holds, of onnx.proto.
  auto inside = [](Kind kind, uint64_t field) -> std::optional<Kind> {
    switch (kind) {
    case Model:
      return field == 7    ? std::optional(Graph)
             : field == 25 ? std::optional(Function)
                           : std::nullopt;
    case Graph:
      return field == 1 ? std::optional(Node) : std::nullopt;
    case Function:
      return field == 7 ? std::optional(Node) : std::nullopt;
    case Node:
      return field == 5 ? std::optional(Attribute) : std::nullopt;
    case Attribute:
      return field == 6 || field == 11 ? std::optional(Graph) : std::nullopt;
    }
    return std::nullopt;
  };
  int64_t deepest = 0;
  llvm::SmallVector<Message> left = {{Model, model, 0}};
  while (!left.empty()) {
    auto [kind, bytes, nesting] = left.pop_back_val();
    deepest = std::max(deepest, nesting);
    for (FieldReader reader(bytes); !reader.done();) {
      std::optional<Field> field = reader.next();
      if (!field)
        break;
      if (std::optional<Kind> held = inside(kind, field->number);
          held && field->wireType == 2)
        left.push_back({*held, field->payload, nesting + (kind == Attribute)});
    }
  }
  return deepest;
}

} // namespace shardc::onnx

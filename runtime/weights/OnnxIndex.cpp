// Where an ONNX file keeps its initializers. Field numbers are those of
// onnx.proto.
#include "runtime/weights/OnnxIndex.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/weights/OnnxFields.h"
#include "runtime/weights/WireReader.h"

#include <charconv>

namespace shardc::runtime {

namespace {

uint64_t parseUnsigned(const std::string &text, const std::string &model) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(model, ": external data with the offset or length '", text, "'");
  return value;
}

void readExternal(WireReader entry, OnnxInitializer &initializer,
                  const std::string &model) {
  std::string key, value;
  while (entry.next()) {
    if (entry.field() == entryKey)
      key = entry.text();
    else if (entry.field() == entryValue)
      value = entry.text();
  }
  if (key == "location")
    initializer.location = value;
  else if (key == "offset")
    initializer.offset = parseUnsigned(value, model);
  else if (key == "length")
    initializer.length = parseUnsigned(value, model);
}

OnnxInitializer readTensor(WireReader tensor, const std::string &model) {
  OnnxInitializer initializer;
  while (tensor.next()) {
    switch (tensor.field()) {
    case tensorDims:
      tensor.appendIntegers(initializer.shape);
      break;
    case tensorDataType:
      initializer.dtype = dtypeFromOnnx(static_cast<int32_t>(tensor.integer()));
      break;
    case tensorName:
      initializer.name = tensor.text();
      break;
    // Packed floats lie in the file just as raw data do.
    case tensorFloatData:
    case tensorDoubleData:
    case tensorRawData:
      initializer.offset = tensor.offset();
      initializer.length = tensor.bytes().size();
      break;
    case tensorExternalData:
      readExternal(tensor.message(), initializer, model);
      break;
    case tensorDataLocation:
      initializer.external = tensor.integer() == 1;
      break;
    }
  }
  return initializer;
}

} // namespace

std::map<std::string, OnnxInitializer>
indexOnnx(std::span<const std::byte> model, const std::string &name) {
  std::map<std::string, OnnxInitializer> index;
  bool hasGraph = false;
  WireReader reader(model, name);
  while (reader.next()) {
    if (reader.field() != modelGraph)
      continue;
    hasGraph = true;
    WireReader graph = reader.message();
    while (graph.next())
      if (graph.field() == graphInitializer) {
        OnnxInitializer initializer = readTensor(graph.message(), name);
        std::string key = initializer.name;
        index[key] = std::move(initializer);
      }
  }
  if (!hasGraph)
    fail(name, " is not an ONNX file: it has no graph");
  return index;
}

} // namespace shardc::runtime

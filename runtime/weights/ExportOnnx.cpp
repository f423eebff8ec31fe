// --export-onnx: the template's bytes with initializers put in, streamed. Field
// numbers are those of onnx.proto.
#include "runtime/weights/ExportOnnx.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/weights/GatheredParameters.h"
#include "runtime/weights/OnnxFields.h"
#include "runtime/weights/WireReader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace shardc::runtime {

namespace {

// Shapes and scalars stay in the graph, where shape inference looks for them.
constexpr uint64_t smallestExternal = 1024;
constexpr uint64_t externalAlignment = 4096;

uint64_t totalSize(const std::vector<std::span<const std::byte>> &parts) {
  uint64_t bytes = 0;
  for (std::span<const std::byte> part : parts)
    bytes += part.size();
  return bytes;
}

std::string lengthField(uint32_t field, uint64_t length) {
  std::string text;
  appendLengthField(text, field, length);
  return text;
}

std::string tensorNameOf(WireReader tensor) {
  std::string name;
  while (tensor.next())
    if (tensor.field() == tensorName)
      name = tensor.text();
  return name;
}

} // namespace

void readModel(FileUses &uses, const plan::Plan &plan) {
  uses.reads("the compiled model, " + plan.model(), plan.model());
  std::set<std::string> files;
  for (const plan::Parameter &parameter : plan.parameters())
    files.insert(parameter.source().file());
  for (const plan::ExportedInitializer &each : plan.exported_initializers())
    files.insert(each.source().file());
  std::filesystem::path folder =
      std::filesystem::path(plan.model()).parent_path();
  for (const std::string &file : files) {
    std::string path = (folder / file).string();
    if (!file.empty())
      uses.reads("the compiled model's external data, " + path, path);
  }
}

OnnxExport::OnnxExport(const plan::Plan &plan,
                       std::span<const std::byte> modelTemplate,
                       const EmbeddedWeights &embedded, const std::string &path,
                       uint64_t mostInlineBytes)
    : plan(plan), path(path) {
  if (modelTemplate.empty())
    fail("--export-onnx: this trainer was compiled without the graph");
  splitTemplate(modelTemplate);
  locateInitializers(embedded);
  bytes = modelTemplate.size();
  for (Initializer &initializer : initializers) {
    describe(initializer);
    bytes += initializer.message.size() + initializer.bytes + 32;
  }
  if (bytes <= mostInlineBytes)
    return;
  dataPath = path + ".data";
  uint64_t offset = 0;
  for (Initializer &initializer : initializers) {
    if (initializer.bytes < smallestExternal)
      continue;
    initializer.external = true;
    initializer.offset = (offset + externalAlignment - 1) / externalAlignment *
                         externalAlignment;
    offset = initializer.offset + initializer.bytes;
    describe(initializer);
  }
}

std::vector<std::string> OnnxExport::outputs() const {
  if (dataPath.empty())
    return {path};
  return {path, dataPath};
}

void OnnxExport::open() {
  file.emplace(path);
  file->checkSpace(bytes);
  if (!dataPath.empty())
    dataFile.emplace(dataPath);
}

void OnnxExport::splitTemplate(std::span<const std::byte> modelTemplate) {
  std::set<std::string> replaced;
  for (const plan::ExportedInitializer &exported : plan.exported_initializers())
    replaced.insert(exported.name());
  WireReader model(modelTemplate, "the graph inside the trainer");
  while (model.next()) {
    if (model.field() != modelGraph) {
      modelParts.push_back(modelTemplate.subspan(
          model.fieldBegin(), model.fieldEnd() - model.fieldBegin()));
      continue;
    }
    WireReader graph = model.message();
    while (graph.next())
      if (graph.field() != graphInitializer ||
          !replaced.contains(tensorNameOf(graph.message())))
        graphParts.push_back(model.bytes().subspan(
            graph.fieldBegin(), graph.fieldEnd() - graph.fieldBegin()));
  }
}

void OnnxExport::locateInitializers(const EmbeddedWeights &embedded) {
  bool fromModel = false;
  for (const plan::ExportedInitializer &exported :
       plan.exported_initializers()) {
    Initializer initializer;
    initializer.plan = &exported;
    if (exported.parameter() >= 0) {
      initializer.bytes = elementCount(plan.parameters(exported.parameter())) *
                          elementSize(dtypeFromOnnx(exported.onnx_dtype()));
    } else {
      const plan::Source &source = exported.source();
      try {
        initializer.copied = locate(plan, source, embedded, files);
      } catch (const Error &error) {
        fail(error.what(), " (initializer ", exported.name(),
             ", which --export-onnx copies)");
      }
      initializer.bytes = source.length();
      const OpenFiles::File &from = *initializer.copied.file;
      if (initializer.copied.offset > from.size ||
          source.length() > int64_t(from.size - initializer.copied.offset))
        fail(from.path, ": ends before initializer ", exported.name(),
             ", which --export-onnx copies");
      checkSample(plan, source, initializer.copied);
      fromModel |= !source.embedded() && source.file().empty();
    }
    initializers.push_back(std::move(initializer));
  }
  if (fromModel)
    checkModelUnchanged(plan);
}

/// The fields of a TensorProto before its values; raw values follow when they
/// are not external.
void OnnxExport::describe(Initializer &initializer) const {
  const plan::ExportedInitializer &exported = *initializer.plan;
  std::string &message = initializer.message;
  message.clear();
  for (int64_t dim : exported.dims())
    appendIntegerField(message, tensorDims, dim);
  appendIntegerField(message, tensorDataType, exported.onnx_dtype());
  appendTextField(message, tensorName, exported.name());
  if (!initializer.external) {
    appendLengthField(message, tensorRawData, initializer.bytes);
    return;
  }
  std::string name = std::filesystem::path(dataPath).filename();
  for (const auto &[key, value] :
       {std::pair<std::string, std::string>{"location", name},
        {"offset", std::to_string(initializer.offset)},
        {"length", std::to_string(initializer.bytes)}}) {
    std::string entry;
    appendTextField(entry, entryKey, key);
    appendTextField(entry, entryValue, value);
    appendTextField(message, tensorExternalData, entry);
  }
  appendIntegerField(message, tensorDataLocation, 1);
}

void OnnxExport::write(const ParameterSource &values) {
  if (!file)
    open();
  auto put = [&](std::string_view text) {
    file->write(text.data(), text.size());
  };
  uint64_t graphBytes = totalSize(graphParts);
  auto valueBytes = [](const Initializer &initializer) {
    return initializer.message.size() +
           (initializer.external ? 0 : initializer.bytes);
  };
  for (const Initializer &initializer : initializers) {
    uint64_t bytes = valueBytes(initializer);
    graphBytes += lengthField(graphInitializer, bytes).size() + bytes;
  }
  for (std::span<const std::byte> part : modelParts)
    file->write(part.data(), part.size());
  put(lengthField(modelGraph, graphBytes));
  for (std::span<const std::byte> part : graphParts)
    file->write(part.data(), part.size());
  for (const Initializer &initializer : initializers) {
    put(lengthField(graphInitializer, valueBytes(initializer)));
    put(initializer.message);
    if (!initializer.external) {
      writeValues(initializer, values, *file);
      continue;
    }
    std::vector<std::byte> gap(initializer.offset - dataFile->size());
    dataFile->write(gap.data(), gap.size());
    writeValues(initializer, values, *dataFile);
  }
  if (dataFile)
    dataFile->commit();
  file->commit();
  done = path;
}

void OnnxExport::writeValues(const Initializer &initializer,
                             const ParameterSource &values,
                             OutputFile &to) const {
  const plan::ExportedInitializer &exported = *initializer.plan;
  if (initializer.bytes == 0)
    return;
  if (exported.parameter() >= 0 && exported.transposed())
    return writeTransposed(initializer, values, to);
  plan::DType dtype = dtypeFromOnnx(exported.onnx_dtype());
  int64_t size = exported.parameter() >= 0 ? elementSize(dtype) : 1;
  int64_t elements = initializer.bytes / size;
  std::vector<std::byte> chunk(
      std::min<int64_t>(chunkBytes, initializer.bytes));
  for (int64_t begin = 0; begin < elements;) {
    int64_t end = std::min<int64_t>(elements, begin + chunkBytes / size);
    if (exported.parameter() >= 0)
      values.read(exported.parameter(), begin, end, dtype, chunk.data());
    else
      initializer.copied.file->descriptor.readAt(
          initializer.copied.offset + begin, chunk.data(), end - begin,
          initializer.copied.file->path);
    to.write(chunk.data(), (end - begin) * size);
    begin = end;
  }
}

/// The parameter is [rows, columns], the initializer [columns, rows]: a block
/// of columns at a time.
void OnnxExport::writeTransposed(const Initializer &initializer,
                                 const ParameterSource &values,
                                 OutputFile &to) const {
  const plan::ExportedInitializer &exported = *initializer.plan;
  const plan::Parameter &parameter = plan.parameters(exported.parameter());
  if (parameter.shape_size() != 2)
    fail("initializer ", exported.name(), " is the transpose of parameter ",
         parameter.name(), ", which has not two axes");
  plan::DType dtype = dtypeFromOnnx(exported.onnx_dtype());
  int64_t rows = parameter.shape(0), columns = parameter.shape(1);
  int64_t size = elementSize(dtype);
  int64_t width =
      std::clamp<int64_t>(4 * chunkBytes / (rows * size), 1, columns);
  std::vector<std::byte> line(width * size), block(rows * width * size);
  for (int64_t first = 0; first < columns; first += width) {
    int64_t count = std::min(width, columns - first);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t begin = row * columns + first;
      values.read(exported.parameter(), begin, begin + count, dtype,
                  line.data());
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(block.data() + (i * rows + row) * size,
                    line.data() + i * size, size);
    }
    to.write(block.data(), count * rows * size);
  }
}

} // namespace shardc::runtime

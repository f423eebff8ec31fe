// Opens a model: parse, check versions, locate every initializer's bytes.
#include "frontend/onnx/file/ModelFile.h"
#include "frontend/files/RegularFile.h"
#include "frontend/onnx/file/ExternalData.h"
#include "frontend/onnx/file/HoistedWeights.h"
#include "frontend/onnx/file/WireFormat.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <cstring>

using llvm::StringRef;
using llvm::Twine;
using ::onnx::TensorProto;

namespace shardc::onnx {
namespace {

constexpr int64_t maxElements = int64_t(1) << 31;
constexpr int64_t deepestBranch = 30;
constexpr int64_t oldestOpset = 7, newestOpset = 28, newestIR = 14;

std::string dimsText(llvm::ArrayRef<int64_t> dims) {
  return dims.empty() ? "scalar"
                      : llvm::join(llvm::map_range(dims,
                                                   [](int64_t dim) {
                                                     return std::to_string(dim);
                                                   }),
                                   "x");
}

/// Elements that a tensor's typed fields hold.
int64_t typedElements(const TensorProto &tensor) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return tensor.float_data_size();
  case TensorProto::DOUBLE:
    return tensor.double_data_size();
  case TensorProto::INT64:
    return tensor.int64_data_size();
  case TensorProto::STRING:
    return tensor.string_data_size();
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return tensor.uint64_data_size();
  default:
    return tensor.int32_data_size();
  }
}

} // namespace

int64_t elementBytes(int dtype) {
  switch (dtype) {
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return 1;
  default:
    return 0;
  }
}

StringRef dtypeName(int dtype) {
  static constexpr StringRef names[] = {
      "undefined",      "float",      "uint8",
      "int8",           "uint16",     "int16",
      "int32",          "int64",      "string",
      "bool",           "float16",    "double",
      "uint32",         "uint64",     "complex64",
      "complex128",     "bfloat16",   "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",          "int4",       "float4e2m1",
      "float8e8m0",     "uint2",      "int2"};
  return dtype >= 0 && dtype < int(std::size(names)) ? names[dtype]
                                                     : StringRef("unknown");
}

llvm::Expected<std::unique_ptr<ModelFile>>
ModelFile::open(StringRef path, bool allowMissingWeights) {
  // A damaged file is reported by us, once.
  google::protobuf::SetLogHandler(nullptr);

  auto file = mapRegularFile(path);
  if (!file)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + llvm::toString(file.takeError()));
  auto result = std::make_unique<ModelFile>();
  result->modelPath = path.str();
  result->buffer = std::move(*file);
  if (llvm::Error error = result->parse())
    return error;
  if (!result->proto.has_graph() || result->proto.opset_import_size() == 0)
    return result->damaged("it has no graph or no operator set");

  if (int64_t version = result->proto.ir_version(); version > newestIR)
    return llvm::createStringError(
        "'" + path + "': IR version " + Twine(version) +
        " is not supported; supported are versions up to " + Twine(newestIR));
  if (int64_t version = result->opset("");
      version != 0 && (version < oldestOpset || version > newestOpset))
    return llvm::createStringError("'" + path + "': opset " + Twine(version) +
                                   " is not supported; supported are opsets " +
                                   Twine(oldestOpset) + " to " +
                                   Twine(newestOpset));
  // What was parsed tells whether a weight lies elsewhere; then it takes the
  // values, too.
  if (hoistWeights(result->proto).changed)
    if (llvm::Error error = result->rewrite())
      return error;
  if (llvm::Error error = result->describeInitializers(allowMissingWeights))
    return error;
  return result;
}

llvm::Error ModelFile::damaged(const Twine &why) const {
  return llvm::createStringError("'" + modelPath +
                                 "' is not an ONNX model: " + why);
}

llvm::Error ModelFile::parse() {
  if (buffer->getBufferSize() == 0)
    return damaged("the file is empty");
  std::optional<StrippedModel> stripped = stripWeights(buffer->getBuffer());
  if (!stripped)
    return damaged("it is truncated or not in ONNX's format");
  dataRanges = std::move(stripped->data);
  if (stripped->bytes.size() >= size_t(1) << 30)
    return damaged("its graph without weights is larger than 1 GiB");
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(stripped->bytes.data()),
      int(stripped->bytes.size()));
  if (proto.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage())
    return llvm::Error::success();
  // protobuf reads 100 messages inside each other, and a branch is three.
  if (int64_t nesting = branchNesting(stripped->bytes); nesting > deepestBranch)
    return llvm::createStringError(
        "'" + modelPath + "': " + Twine(nesting) +
        " branches of nodes If lie in each other, the limit is " +
        Twine(deepestBranch) + "; move the inner ones into a function");
  return damaged("it is truncated or not in ONNX's format");
}

llvm::Error ModelFile::rewrite() {
  ::onnx::ModelProto whole;
  const StringRef stored = buffer->getBuffer();
  if (stored.size() >= size_t(INT_MAX) ||
      !whole.ParseFromArray(stored.data(), int(stored.size())))
    return llvm::createStringError(
        "'" + modelPath +
        "': weights that are no initializers (of Constant nodes, of bodies, "
        "16-bit floats in int32_data) are read from files below 2 GiB; store "
        "the large ones as external data");
  literals = hoistWeights(whole).constants;
  original = std::move(buffer);
  buffer = llvm::MemoryBuffer::getMemBufferCopy(whole.SerializeAsString(),
                                                modelPath);
  return parse();
}

int64_t ModelFile::opset(StringRef domain) const {
  for (const auto &entry : proto.opset_import())
    if (entry.domain() == domain ||
        (domain.empty() && entry.domain() == "ai.onnx"))
      return entry.version();
  return 0;
}

const Initializer *ModelFile::find(StringRef name) const {
  auto entry = byName.find(name);
  return entry == byName.end() ? nullptr : &table[entry->second];
}

llvm::Error ModelFile::describeInitializers(bool allowMissingWeights) {
  if (graph().sparse_initializer_size() > 0)
    return llvm::createStringError(
        "'" + modelPath + "': sparse initializer '" +
        graph().sparse_initializer(0).values().name() +
        "' is not supported; store it densely");
  for (auto [index, tensor] : llvm::enumerate(graph().initializer()))
    if (llvm::Error error = describe(tensor, index, allowMissingWeights))
      return llvm::createStringError(
          "'" + modelPath +
          (literals.contains(tensor.name()) ? "': constant '"
                                            : "': initializer '") +
          tensor.name() + "': " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error ModelFile::describe(const TensorProto &tensor, int index,
                                bool allowMissingWeights) {
  Initializer result;
  result.name = tensor.name();
  result.dtype = tensor.data_type();
  result.index = index;
  result.mayBeLiteral = literals.contains(result.name);
  if (result.name.empty())
    return llvm::createStringError("has no name");
  if (byName.count(result.name))
    return llvm::createStringError("is defined twice");
  result.elements = 1;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      return llvm::createStringError("has the negative dim " + Twine(dim));
    result.dims.push_back(dim);
    if (llvm::MulOverflow(result.elements, dim, result.elements) ||
        result.elements > maxElements)
      return llvm::createStringError("shape " +
                                     dimsText(llvm::to_vector(tensor.dims())) +
                                     " has more than 2^31 elements");
  }

  int64_t width = elementBytes(result.dtype);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (width == 0)
      return llvm::createStringError("data type " + dtypeName(result.dtype) +
                                     " is not supported as external data");
    if (llvm::Error error = locateExternal(tensor, result, allowMissingWeights))
      return error;
  } else if (width != 0) {
    StoredData stored =
        index < int(dataRanges.size()) ? dataRanges[index] : StoredData();
    int64_t needed = result.elements * width;
    // Large raw data were left out of the message.
    bool isRaw = tensor.has_raw_data() || stored.isRaw;
    bool fixedWidth = isRaw || result.dtype == TensorProto::FLOAT ||
                      result.dtype == TensorProto::DOUBLE;
    // Integers in typed fields are varints: they are read from the message, not
    // from a range of bytes.
    bool varints = !isRaw && (stored.length < 0 || !fixedWidth);
    if (!varints && stored.length != needed)
      return llvm::createStringError(
          "has " + Twine(std::max<int64_t>(stored.length, 0)) +
          " bytes of data, its shape " + dimsText(result.dims) + " of " +
          dtypeName(result.dtype) + " needs " + Twine(needed));
    if (varints && typedElements(tensor) != result.elements)
      return llvm::createStringError("has " + Twine(typedElements(tensor)) +
                                     " elements of data, its shape " +
                                     dimsText(result.dims) + " needs " +
                                     Twine(result.elements));
    if (!varints)
      result.bytes = ByteRange{"", stored.offset, stored.length};
  }
  byName[result.name] = table.size();
  table.push_back(std::move(result));
  return llvm::Error::success();
}

llvm::Error ModelFile::locateExternal(const TensorProto &tensor,
                                      Initializer &initializer,
                                      bool allowMissingWeights) {
  int64_t needed = initializer.elements * elementBytes(initializer.dtype);
  ByteRange range{"", 0, needed};
  for (const auto &entry : tensor.external_data()) {
    int64_t *number = entry.key() == "offset"   ? &range.offset
                      : entry.key() == "length" ? &range.length
                                                : nullptr;
    if (entry.key() == "location")
      range.file = entry.value();
    else if (number && (StringRef(entry.value()).getAsInteger(10, *number) ||
                        *number < 0))
      return llvm::createStringError("external data has the " + entry.key() +
                                     " '" + entry.value() +
                                     "', expects a number of bytes");
  }
  if (range.length != needed)
    return llvm::createStringError(
        "external data has length " + Twine(range.length) + ", its shape " +
        dimsText(initializer.dims) + " of " + dtypeName(initializer.dtype) +
        " needs " + Twine(needed));

  auto [entry, inserted] = mapped.try_emplace(range.file);
  if (inserted) {
    auto file = mapBeside(modelPath, range.file);
    if (!file) {
      mapped.erase(entry);
      return file.takeError();
    }
    entry->second = std::move(*file);
  }
  int64_t size = entry->second ? int64_t(entry->second->getBufferSize()) : -1;
  initializer.missing =
      size < 0 || range.offset > size || needed > size - range.offset;
  if (initializer.missing && !allowMissingWeights) {
    if (size < 0)
      return llvm::createStringError(
          "external data file '" + range.file +
          "' does not exist; put it beside the model, or compile "
          "without weights (--init random)");
    return llvm::createStringError("external data file '" + range.file +
                                   "' has " + Twine(size) + " bytes, expects " +
                                   Twine(needed) + " at offset " +
                                   Twine(range.offset));
  }
  initializer.bytes = std::move(range);
  return llvm::Error::success();
}

llvm::SmallVector<std::string> ModelFile::externalFiles() const {
  llvm::SmallVector<std::string> files;
  for (const auto &[location, file] : mapped) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(modelPath));
    llvm::sys::path::append(path, location);
    if (file)
      files.push_back(path.str().str());
  }
  llvm::sort(files); // the map has no order
  return files;
}

std::optional<StringRef> ModelFile::map(const Initializer &initializer) const {
  if (initializer.missing || !initializer.bytes)
    return std::nullopt;
  const ByteRange &range = *initializer.bytes;
  StringRef file = range.file.empty()
                       ? buffer->getBuffer()
                       : mapped.find(range.file)->second->getBuffer();
  return file.substr(range.offset, range.length);
}

llvm::Expected<std::string> ModelFile::read(const Initializer &initializer,
                                            int64_t limit) const {
  std::optional<StringRef> bytes = map(initializer);
  if (!bytes)
    return llvm::createStringError(
        "'" + modelPath + "': the values of initializer '" + initializer.name +
        "' are needed and not there");
  if (int64_t(bytes->size()) > limit)
    return llvm::createStringError(
        "'" + modelPath + "': initializer '" + initializer.name + "' has " +
        Twine(bytes->size()) + " bytes, more than the " + Twine(limit) +
        " that are evaluated at compile time");
  return bytes->str();
}

llvm::Expected<std::string> ModelFile::read(const ByteRange &range) const {
  const llvm::MemoryBuffer *source = buffer.get();
  if (!range.file.empty()) {
    auto entry = mapped.find(range.file);
    source = entry == mapped.end() ? nullptr : entry->second.get();
  }
  if (!source || range.offset + range.length > int64_t(source->getBufferSize()))
    return llvm::createStringError(
        "its values are not in '" +
        (range.file.empty() ? modelPath : range.file) + "'");
  return source->getBuffer().substr(range.offset, range.length).str();
}

std::optional<bool> ModelFile::isUniform(const Initializer &initializer) const {
  std::optional<StringRef> bytes = map(initializer);
  if (!bytes)
    return std::nullopt;
  size_t width = elementBytes(initializer.dtype);
  return bytes->size() <= width ||
         std::memcmp(bytes->data(), bytes->data() + width,
                     bytes->size() - width) == 0;
}

std::optional<uint64_t>
ModelFile::corners(const Initializer &initializer) const {
  std::optional<StringRef> bytes = map(initializer);
  size_t width = elementBytes(initializer.dtype);
  if (!bytes || width == 0 || bytes->size() < width)
    return std::nullopt;
  // Its sign bit off: two values of a DenseMap's keys are its own.
  return llvm::hash_combine(bytes->take_front(width),
                            bytes->take_back(width)) >>
         1;
}

std::optional<bool> ModelFile::sameValues(const Initializer &lhs,
                                          const Initializer &rhs,
                                          bool transposed) const {
  std::optional<StringRef> left = map(lhs), right = map(rhs);
  if (!left || !right)
    return std::nullopt;
  if (lhs.dtype != rhs.dtype || left->size() != right->size())
    return false;
  if (!transposed)
    return lhs.dims == rhs.dims && *left == *right;
  if (lhs.dims.size() != 2 || rhs.dims.size() != 2 ||
      lhs.dims[0] != rhs.dims[1] || lhs.dims[1] != rhs.dims[0])
    return false;
  int64_t width = elementBytes(lhs.dtype), rows = lhs.dims[0],
          columns = lhs.dims[1];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (std::memcmp(left->data() + (row * columns + column) * width,
                      right->data() + (column * rows + row) * width, width))
        return false;
  return true;
}

} // namespace shardc::onnx

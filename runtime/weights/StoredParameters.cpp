// Initial values from files: which byte range holds a parameter, and reading
// parts of it.
#include "runtime/weights/StoredParameters.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Text.h"
#include "runtime/files/ConfinedOpen.h"
#include "runtime/files/MappedFile.h"
#include "runtime/weights/OnnxIndex.h"
#include "runtime/weights/WeightsPath.h"
#include "runtime/weights/WrappedNames.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardc::runtime {

constexpr const char *hint = "; give --weights PATH or --init random";

const OpenFiles::File &OpenFiles::open(const std::string &path,
                                       const std::string &name) {
  std::unique_ptr<File> &file = files[path];
  if (!file) {
    const std::string &shown = name.empty() ? path : name;
    Descriptor descriptor = Descriptor::openForReading(path, shown);
    uint64_t size = descriptor.regularSize(shown);
    file = std::make_unique<File>(File{std::move(descriptor), shown, size});
  }
  return *file;
}

const OpenFiles::File &OpenFiles::openConfined(const std::string &owner,
                                               const std::string &relative) {
  std::string path = folderOf(owner) + "/" + relative;
  std::unique_ptr<File> &file = files[path];
  if (!file) {
    Descriptor descriptor = runtime::openConfined(owner, relative);
    uint64_t size = descriptor.regularSize(path);
    file = std::make_unique<File>(File{std::move(descriptor), path, size});
  }
  return *file;
}

std::vector<std::string> OpenFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto &[path, file] : files)
    paths.push_back(path);
  return paths;
}

StoredRange locate(const plan::Plan &plan, const plan::Source &source,
                   const EmbeddedWeights &embedded, OpenFiles &files) {
  StoredRange range;
  range.offset = source.offset();
  range.dtype = source.dtype();
  range.transposed = source.transposed();
  if (source.embedded()) {
    range.file = &files.open(embedded.path, embedded.name);
    range.offset += embedded.offset;
  } else if (source.file().empty()) {
    range.file = &files.open(plan.model());
  } else {
    range.file = &files.openConfined(plan.model(), source.file());
  }
  return range;
}

static constexpr const char *compileAgain =
    " any more; compile it again, or give --weights ";

void checkSample(const plan::Plan &plan, const plan::Source &source,
                 const StoredRange &range) {
  constexpr int64_t most = 4096;
  if (source.sample() == 0)
    return;
  int64_t count = std::min(source.length(), most);
  std::vector<std::byte> bytes(2 * count);
  const OpenFiles::File &file = *range.file;
  file.descriptor.readAt(range.offset, bytes.data(), count, file.path);
  file.descriptor.readAt(range.offset + source.length() - count,
                         bytes.data() + count, count, file.path);
  if (hashOf(bytes.data(), bytes.size()) != source.sample())
    fail(file.path, " has not the values that ", plan.model(),
         " was compiled with", compileAgain, plan.model(),
         " to take those that it has now");
}

void checkModelUnchanged(const plan::Plan &plan) {
  if (plan.model_hash() == 0)
    return;
  // Read, not mapped: a mapped file that shrinks ends the process.
  Descriptor file = Descriptor::openForReading(plan.model());
  uint64_t size = file.regularSize(plan.model());
  std::vector<std::byte> chunk(std::min<uint64_t>(size, 1 << 20));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (uint64_t at = 0; at < size; at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(size - at, chunk.size()));
    file.readAt(at, chunk.data(), chunk.size(), plan.model());
    XXH3_64bits_update(&state, chunk.data(), chunk.size());
  }
  if (XXH3_64bits_digest(&state) != plan.model_hash())
    fail(plan.model(), " is not the file that was compiled", compileAgain,
         plan.model(), " to find parameters by name");
}

void StoredParameters::add(const plan::Parameter &parameter, StoredRange range,
                           uint64_t length) {
  const std::string &path = range.file->path;
  uint64_t expected = elementCount(parameter) * elementSize(range.dtype);
  if (range.dtype == plan::INVALID ||
      !isConvertible(range.dtype, parameter.dtype()))
    fail(path, ": parameter ", parameter.name(), " is stored as ",
         dtypeName(range.dtype), ", which does not convert to ",
         dtypeName(parameter.dtype()), hint);
  if (length != expected)
    fail(path, ": parameter ", parameter.name(), " expects ", expected,
         " bytes, got ", length, hint);
  if (range.offset > range.file->size ||
      length > range.file->size - range.offset)
    fail(path, ": parameter ", parameter.name(), " lies at bytes ",
         range.offset, " to ", range.offset + length, ", and the file has ",
         range.file->size, hint);
  ranges.push_back(range);
}

void StoredParameters::addRecorded(const plan::Parameter &parameter,
                                   const EmbeddedWeights &embedded) {
  StoredRange range;
  try {
    range = locate(plan, parameter.source(), embedded, files);
  } catch (const Error &error) {
    fail(error.what(), " (parameter ", parameter.name(), ")", hint);
  }
  add(parameter, range, parameter.source().length());
  checkSample(plan, parameter.source(), range);
}

std::unique_ptr<StoredParameters>
StoredParameters::recorded(const plan::Plan &plan,
                           const EmbeddedWeights &embedded, bool all,
                           const ParameterChoice &isNeeded) {
  std::unique_ptr<StoredParameters> stored(
      new StoredParameters(plan, isNeeded));
  bool inModel = false;
  for (const plan::Parameter &parameter : plan.parameters()) {
    const plan::Source &source = parameter.source();
    bool isTable = std::string_view(parameter.init()).starts_with("rotary_");
    bool isDrawn = !all && !parameter.init().empty() && !isTable;
    if (isDrawn || !stored->takes(parameter)) {
      stored->ranges.emplace_back();
      continue;
    }
    try {
      stored->addRecorded(parameter, embedded);
    } catch (const Error &) {
      if (all || !isTable)
        throw;
      stored->ranges.emplace_back(); // it can be computed
      continue;
    }
    inModel |= !source.embedded() && source.file().empty();
  }
  // Only once the file is known to be there: hashing it takes a while.
  if (inModel)
    checkModelUnchanged(plan);
  return stored;
}

std::unique_ptr<StoredParameters>
StoredParameters::fromPath(const plan::Plan &plan, const std::string &path,
                           const EmbeddedWeights &embedded,
                           const ParameterChoice &isTaken) {
  std::unique_ptr<StoredParameters> stored(new StoredParameters(plan, isTaken));
  WeightsPath weights = findWeights(path, plan.model(), stored->files);
  switch (weights.format) {
  case WeightsFormat::Onnx:
    stored->addOnnx(weights.file);
    break;
  case WeightsFormat::Safetensors:
    stored->addSafetensors(weights.file, embedded);
    break;
  case WeightsFormat::SafetensorsIndex:
    stored->addShards(weights.file, embedded);
    break;
  }
  return stored;
}

void StoredParameters::addSafetensors(const std::string &path,
                                      const EmbeddedWeights &embedded) {
  const OpenFiles::File &file = files.open(path);
  Tensors tensors;
  for (auto &[name, entry] : readSafetensorsHeader(file.descriptor, path))
    tensors[name] = {std::move(entry), &file};
  addTensors(path, tensors, embedded);
}

void StoredParameters::addShards(const std::string &index,
                                 const EmbeddedWeights &embedded) {
  using Header = std::map<std::string, SafetensorsEntry>;
  std::map<std::string, std::pair<Header, const OpenFiles::File *>> shards;
  Tensors tensors;
  for (const auto &[name, location] : readSafetensorsIndex(files.open(index))) {
    auto [place, isNew] = shards.try_emplace(location);
    auto &[header, file] = place->second;
    if (isNew) {
      file = &files.openConfined(index, location);
      header = readSafetensorsHeader(file->descriptor, file->path);
    }
    auto found = header.find(name);
    if (found == header.end())
      fail(file->path, ": has no tensor ", name, ", which ", index,
           " says is there");
    tensors[name] = {found->second, file};
  }
  addTensors(index, tensors, embedded);
}

/// Where a tensor of the file could be the parameter `name` of a model that has
/// the file's model inside, or the other way round.
static std::string likely(const std::string &name,
                          const std::vector<std::string> &names) {
  for (const std::string &other : names)
    if (name.ends_with("." + other) || other.ends_with("." + name))
      return concat(", did you mean '", other,
                    "'? Write the values of the model that was exported");
  return suggestion(name, names);
}

void StoredParameters::addTensors(const std::string &path,
                                  const Tensors &tensors,
                                  const EmbeddedWeights &embedded) {
  // Buffers are seldom in a checkpoint, nor are tables that are never trained
  // and have no way to be drawn: the model's own serve.
  auto isNeeded = [](const plan::Parameter &parameter) {
    return parameter.trainable() ||
           (parameter.frozen() && !parameter.init().empty());
  };
  std::vector<std::string> needed, names;
  for (const plan::Parameter &parameter : plan.parameters())
    if (takes(parameter) && isNeeded(parameter))
      needed.push_back(parameter.name());
  for (const auto &[name, tensor] : tensors)
    names.push_back(name);
  const WrappedNames inFile = WrappedNames::find(needed, names);
  if (!inFile.inFile.empty())
    wrapped = concat(path, ": names of tensors have ", inFile.inFile,
                     " before the parameters' names");
  else if (!inFile.inModel.empty())
    wrapped = concat(path, ": names of tensors are the parameters' without ",
                     inFile.inModel);
  for (const plan::Parameter &parameter : plan.parameters()) {
    if (!takes(parameter)) {
      ranges.emplace_back();
      continue;
    }
    auto found = tensors.find(inFile(parameter.name()));
    if (found == tensors.end()) {
      if (isNeeded(parameter))
        fail(path, ": has no tensor ", parameter.name(),
             likely(parameter.name(), names));
      addRecorded(parameter, embedded);
      continue;
    }
    const auto &[entry, file] = found->second;
    if (!std::equal(entry.shape.begin(), entry.shape.end(),
                    parameter.shape().begin(), parameter.shape().end()))
      fail(
          file->path, ": tensor ", parameter.name(), " has the shape ",
          shapeText(entry.shape), ", and the model's parameter ",
          shapeText({parameter.shape().data(), size_t(parameter.shape_size())}),
          "; --weights-match REGEX takes the values of some parameters alone");
    add(parameter, {file, entry.offset, entry.dtype, false}, entry.length);
  }
}

void StoredParameters::addOnnx(const std::string &path) {
  std::map<std::string, OnnxInitializer> index;
  {
    MappedFile mapped(path);
    index = indexOnnx(mapped.bytes(), path);
  }
  // --export-onnx gives merged parameters initializers of their own: those
  // names come first.
  std::vector<std::pair<const OnnxInitializer *, bool>> found;
  for (const plan::Parameter &parameter : plan.parameters()) {
    auto original = index.find(parameter.initializer());
    found.emplace_back(original == index.end() ? nullptr : &original->second,
                       parameter.source().transposed());
  }
  for (const plan::ExportedInitializer &exported : plan.exported_initializers())
    if (auto own = index.find(exported.name());
        exported.parameter() >= 0 && own != index.end())
      found[exported.parameter()] = {&own->second, exported.transposed()};

  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    auto [initializer, transposed] = found[i];
    if (!takes(parameter)) {
      ranges.emplace_back();
      continue;
    }
    if (!initializer)
      fail(path, ": has no initializer ", parameter.initializer(),
           " for parameter ", parameter.name());
    const OpenFiles::File &file =
        initializer->external ? files.openConfined(path, initializer->location)
                              : files.open(path);
    uint64_t length = initializer->length;
    // External data without a length go to the end of the file.
    if (initializer->external && length == 0 &&
        initializer->offset <= file.size)
      length = file.size - initializer->offset;
    add(parameter, {&file, initializer->offset, initializer->dtype, transposed},
        length);
  }
}

void StoredParameters::read(int index, int64_t begin, int64_t end,
                            plan::DType dtype, std::byte *destination) const {
  const plan::Parameter &parameter = plan.parameters(index);
  const StoredRange &range = ranges[index];
  if (range.transposed && parameter.shape_size() == 2) {
    readTransposed(parameter, range, begin, end, dtype, destination);
    return;
  }
  const OpenFiles::File &file = *range.file;
  size_t size = elementSize(range.dtype);
  if (range.dtype == dtype) {
    file.descriptor.readAt(range.offset + begin * size, destination,
                           (end - begin) * size, file.path);
    return;
  }
  std::vector<std::byte> buffer(
      std::min<size_t>((end - begin) * size, 1 << 20));
  int64_t most = buffer.size() / size;
  while (begin < end) {
    int64_t count = std::min(end - begin, most);
    file.descriptor.readAt(range.offset + begin * size, buffer.data(),
                           count * size, file.path);
    convertElements(buffer.data(), range.dtype, destination, dtype, count);
    destination += count * elementSize(dtype);
    begin += count;
  }
}

/// The parameter is [rows, columns], the file [columns, rows]: a block of the
/// file's lines at a time.
void StoredParameters::readTransposed(const plan::Parameter &parameter,
                                      const StoredRange &range, int64_t begin,
                                      int64_t end, plan::DType dtype,
                                      std::byte *destination) const {
  int64_t rows = parameter.shape(0), columns = parameter.shape(1);
  int64_t firstRow = begin / columns, lastRow = (end - 1) / columns + 1;
  int64_t size = elementSize(range.dtype), newSize = elementSize(dtype);
  // Short parts of long lines cost more to read than whole lines.
  bool wholeLines = (lastRow - firstRow) * 4 >= rows;
  int64_t width = wholeLines ? rows : lastRow - firstRow;
  int64_t skipped = wholeLines ? firstRow : 0;
  int64_t lines =
      std::clamp<int64_t>((int64_t{4} << 20) / (width * 8), 1, columns);
  std::vector<std::byte> stored(lines * width * size);
  std::vector<std::byte> converted(lines * width * newSize);
  for (int64_t line = 0; line < columns; line += lines) {
    int64_t count = std::min(lines, columns - line);
    const OpenFiles::File &file = *range.file;
    if (wholeLines)
      file.descriptor.readAt(range.offset + line * rows * size, stored.data(),
                             count * rows * size, file.path);
    else
      for (int64_t i = 0; i < count; ++i)
        file.descriptor.readAt(
            range.offset + ((line + i) * rows + firstRow) * size,
            stored.data() + i * width * size, width * size, file.path);
    convertElements(stored.data(), range.dtype, converted.data(), dtype,
                    count * width);
    for (int64_t row = firstRow; row < lastRow; ++row)
      for (int64_t i = 0; i < count; ++i) {
        int64_t element = row * columns + line + i;
        if (element >= begin && element < end)
          std::memcpy(destination + (element - begin) * newSize,
                      converted.data() +
                          (i * width + skipped + row - firstRow) * newSize,
                      newSize);
      }
  }
}

} // namespace shardc::runtime

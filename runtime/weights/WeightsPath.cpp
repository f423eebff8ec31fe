// What a path given as --weights holds.
#include "runtime/weights/WeightsPath.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace shardc::runtime {

namespace fs = std::filesystem;

/// As long as a safetensors header may be.
constexpr uint64_t longestIndex = 100'000'000;

static std::string fileIn(const std::string &folder, const std::string &model) {
  std::string tried;
  for (const std::string &name : {fs::path(model).filename().string(),
                                  std::string("model.safetensors.index.json"),
                                  std::string("model.safetensors")}) {
    fs::path file = fs::path(folder) / name;
    std::error_code ignored;
    if (fs::exists(file, ignored))
      return file.string();
    tried += (tried.empty() ? "" : ", ") + name;
  }
  fail("--weights ", folder, ": the folder has none of ", tried,
       "; give the path of the file");
}

/// Throws for files that people take for weights, and that are not read.
static void refuseOtherFormats(std::string_view begin,
                               const std::string &path) {
  static constexpr struct {
    std::string_view magic;
    const char *what, *remedy;
  } others[] = {
      {"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write them",
       "write the values with safetensors.torch.save_file"},
      {"\x80\x02", "a Python pickle, as old versions of torch.save write it",
       "write the values with safetensors.torch.save_file"},
      {"\x89HDF", "an HDF5 file", "write the values as safetensors"},
      {"\x93NUMPY", "a single NumPy array", "write the values as safetensors"},
      {"version https://git-lfs", "a pointer of Git LFS, not the file itself",
       "fetch it with git lfs pull"}};
  for (const auto &[magic, what, remedy] : others)
    if (begin.starts_with(magic))
      fail("--weights ", path, " is ", what, "; ", remedy);
}

/// Whether a byte is the tag of a field of ONNX's ModelProto: its number and
/// wire type.
static bool beginsModel(uint8_t tag) {
  constexpr int varint = 0, lengthDelimited = 2;
  int field = tag >> 3, type = tag & 7;
  if (field == 1 || field == 5) // ir_version, model_version
    return type == varint;
  return type == lengthDelimited && ((field >= 2 && field <= 8) || field == 14);
}

static WeightsFormat formatOf(const OpenFiles::File &file) {
  char bytes[32];
  size_t count = std::min<uint64_t>(sizeof(bytes), file.size);
  file.descriptor.readAt(0, bytes, count, file.path);
  std::string_view begin(bytes, count);
  refuseOtherFormats(begin, file.path);
  uint64_t header = 0;
  if (count > sizeof(header)) {
    std::memcpy(&header, bytes, sizeof(header));
    if (bytes[sizeof(header)] == '{' && header <= file.size - sizeof(header))
      return WeightsFormat::Safetensors;
  }
  size_t first = begin.find_first_not_of(" \t\r\n");
  if (first != begin.npos && begin[first] == '{')
    return WeightsFormat::SafetensorsIndex;
  if (count > 0 && beginsModel(static_cast<uint8_t>(bytes[0])))
    return WeightsFormat::Onnx;
  // Damaged: what it should be is said by its name.
  return file.path.ends_with(".safetensors") ? WeightsFormat::Safetensors
         : file.path.ends_with(".json")      ? WeightsFormat::SafetensorsIndex
                                             : WeightsFormat::Onnx;
}

WeightsPath findWeights(const std::string &path, const std::string &model,
                        OpenFiles &files) {
  std::error_code ignored;
  std::string file =
      fs::is_directory(path, ignored) ? fileIn(path, model) : path;
  return {file, formatOf(files.open(file))};
}

std::map<std::string, std::string>
readSafetensorsIndex(const OpenFiles::File &index) {
  if (index.size > longestIndex)
    fail(index.path, ": has ", index.size,
         " bytes, and an index of safetensors ", "has at most ", longestIndex);
  std::string text(index.size, '\0');
  index.descriptor.readAt(0, text.data(), text.size(), index.path);
  try {
    return nlohmann::json::parse(text)
        .at("weight_map")
        .get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception &) {
    fail(index.path, ": is JSON without the weight_map of a safetensors index, "
                     "or damaged");
  }
}

} // namespace shardc::runtime

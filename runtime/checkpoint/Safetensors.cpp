// The safetensors format: reading and writing of headers.
#include "runtime/checkpoint/Safetensors.h"

#include "runtime/DType.h"
#include "runtime/Error.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::json;

/// Longer headers are refused by the reference implementation as well.
constexpr uint64_t longestHeader = 100'000'000;

static SafetensorsEntry parseEntry(const std::string &name, const Json &value,
                                   uint64_t dataBegin, uint64_t fileSize,
                                   const std::string &path) {
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = dtypeFromSafetensorsName(value.at("dtype").get<std::string>());
  entry.shape = value.at("shape").get<std::vector<int64_t>>();
  auto offsets = value.at("data_offsets").get<std::vector<uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      offsets[1] > fileSize - dataBegin)
    fail(path, ": tensor ", name, " lies outside the file");
  entry.offset = dataBegin + offsets[0];
  entry.length = offsets[1] - offsets[0];
  uint64_t bytes = elementSize(entry.dtype);
  for (int64_t dim : entry.shape)
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      fail(path, ": tensor ", name, " has a shape that is not possible");
  if (entry.dtype != plan::INVALID && bytes != entry.length)
    fail(path, ": tensor ", name, " expects ", bytes, " bytes, got ",
         entry.length);
  return entry;
}

std::map<std::string, SafetensorsEntry>
readSafetensorsHeader(const Descriptor &file, const std::string &path) {
  uint64_t fileSize = file.regularSize(path);
  uint64_t length = 0;
  if (fileSize < sizeof(length))
    fail(path, " is not a safetensors file: it has ", fileSize, " bytes");
  file.readAt(0, &length, sizeof(length), path);
  if (length > fileSize - sizeof(length) || length > longestHeader)
    fail(path, " is not a safetensors file, or it is truncated: a header of ",
         length, " bytes in a file of ", fileSize);
  std::string text(length, '\0');
  file.readAt(sizeof(length), text.data(), length, path);
  std::map<std::string, SafetensorsEntry> entries;
  try {
    Json header = Json::parse(text);
    for (const auto &[name, value] : header.items())
      if (name != "__metadata__")
        entries[name] =
            parseEntry(name, value, sizeof(length) + length, fileSize, path);
  } catch (const Json::exception &) {
    fail(path, ": its safetensors header is damaged");
  }
  return entries;
}

std::string safetensorsHeader(const std::vector<SafetensorsEntry> &entries) {
  // Ordered as given: the header then reads in the order of the data.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  header["__metadata__"] = {{"format", "pt"}};
  for (const SafetensorsEntry &entry : entries) {
    uint64_t bytes = elementSize(entry.dtype);
    for (int64_t dim : entry.shape)
      bytes *= dim;
    header[entry.name] = {{"dtype", safetensorsName(entry.dtype)},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  return std::string(reinterpret_cast<char *>(&length), sizeof(length)) + text;
}

} // namespace shardc::runtime

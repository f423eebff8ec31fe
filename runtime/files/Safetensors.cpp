// The safetensors format: reading and writing of headers.
#include "runtime/files/Safetensors.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace shardc::runtime {

using Json = nlohmann::json;

namespace {

/// Longer headers are refused by the reference implementation as well.
constexpr uint64_t longestHeader = 100'000'000;

/// Takes the header's JSON apart as it is parsed, so that memory grows with the
/// tensors and not with what else a damaged header holds, and so that nothing
/// is rounded, overwritten or overlooked on the way: a key that is there twice,
/// a number that is no integer, a field in another shape are errors.
class HeaderReader final : public nlohmann::json_sax<Json> {
public:
  std::vector<SafetensorsEntry> entries; // offsets are those of the header
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool key(string_t &text) override {
    if (skipped > 0)
      return true;
    if (depth == 1) {
      if (!names.insert(text).second)
        return refuse("tensor ", text, " is there twice");
      name = text;
      fields.clear();
      return true;
    }
    if (!fields.insert(text).second)
      return refuse("tensor ", name, " has two fields '", text, "'");
    if (isMetadata())
      metadataName = text;
    field = isMetadata()             ? Field::Metadata
            : text == "dtype"        ? Field::DType
            : text == "shape"        ? Field::Shape
            : text == "data_offsets" ? Field::Offsets
                                     : Field::Unknown;
    return true;
  }

  bool start_object(std::size_t) override {
    if (skipped > 0 || (depth == 2 && !list && field == Field::Unknown))
      return ++skipped, true;
    if (depth == 2 || list)
      return refuseValue();
    if (++depth == 2 && !isMetadata()) {
      entries.emplace_back().name = name;
      offsets.clear();
    }
    return true;
  }
  bool end_object() override {
    if (skipped > 0)
      return --skipped, true;
    if (depth-- != 2 || isMetadata())
      return true;
    if (!fields.contains("dtype") || !fields.contains("shape") ||
        offsets.size() != 2)
      return refuse("tensor ", name,
                    " needs a dtype, a shape and two data_offsets");
    if (offsets[0] > offsets[1])
      return refuse("tensor ", name, " has the data_offsets ", offsets[0],
                    " and ", offsets[1], ", which end before they begin");
    entries.back().offset = offsets[0];
    entries.back().length = offsets[1] - offsets[0];
    return true;
  }

  bool start_array(std::size_t) override {
    if (skipped > 0 || (depth == 2 && !list && field == Field::Unknown))
      return ++skipped, true;
    bool expected = depth == 2 && !list &&
                    (field == Field::Shape || field == Field::Offsets);
    if (!expected)
      return refuseValue();
    list = true;
    return true;
  }
  bool end_array() override {
    if (skipped > 0)
      return --skipped, true;
    list = false;
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (isSkipped())
      return true;
    if (!list)
      return refuseValue();
    constexpr uint64_t most = std::numeric_limits<int64_t>::max();
    if (number > most)
      return refuse("tensor ", name, " has the number ", number,
                    ", more than 2^63 - 1");
    if (field == Field::Shape)
      entries.back().shape.push_back(static_cast<int64_t>(number));
    else if (offsets.size() < 2)
      offsets.push_back(number);
    else
      return refuse("tensor ", name, " has more than two data_offsets");
    return true;
  }
  bool string(string_t &text) override {
    if (isSkipped())
      return true;
    if (depth == 2 && field == Field::Metadata) {
      metadata[metadataName] = text;
      return true;
    }
    if (depth != 2 || list || field != Field::DType)
      return refuseValue();
    entries.back().dtype = dtypeFromSafetensorsName(text);
    return true;
  }

  bool number_integer(number_integer_t number) override {
    return isSkipped() || refuseNumber(std::to_string(number));
  }
  bool number_float(number_float_t, const string_t &text) override {
    return isSkipped() || refuseNumber(text);
  }
  bool null() override { return isSkipped() || refuseValue(); }
  bool boolean(bool) override { return isSkipped() || refuseValue(); }
  bool binary(binary_t &) override { return refuseValue(); }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return refuse("its safetensors header is no JSON at byte ", position);
  }

private:
  enum class Field { Metadata, DType, Shape, Offsets, Unknown };

  bool isMetadata() const { return name == "__metadata__"; }
  /// Fields that are not known are somebody's own, as the reference has it.
  bool isSkipped() const {
    return skipped > 0 || (depth == 2 && !list && field == Field::Unknown);
  }
  template <typename... Parts> bool refuse(const Parts &...parts) {
    problem = concat(parts...);
    return false;
  }
  bool refuseValue() {
    return depth == 0 ? refuse("its safetensors header is no JSON object")
           : isMetadata()
               ? refuse("the __metadata__ of its header is no list of texts")
               : refuse("tensor ", name,
                        " of its header is not described as a dtype, a shape "
                        "and data_offsets");
  }
  bool refuseNumber(const std::string &text) {
    return list ? refuse("tensor ", name, " has the number ",
                         text.substr(0, 40), ", expects integers from 0 on")
                : refuseValue();
  }

  int depth = 0;        // open objects
  uint64_t skipped = 0; // open objects and lists of a field that is not known
  bool list = false;    // inside a list of numbers
  Field field = Field::Unknown;
  std::string name, metadataName;
  std::set<std::string> names, fields;
  std::vector<uint64_t> offsets;
};

/// Every byte behind the header belongs to one tensor, as the reference
/// implementation demands: what overlaps or is left over was not meant.
void checkLayout(std::vector<SafetensorsEntry> &entries, uint64_t dataBytes,
                 const std::string &path) {
  std::ranges::sort(entries, {}, [](const SafetensorsEntry &entry) {
    return std::pair(entry.offset, entry.length);
  });
  uint64_t end = 0;
  const SafetensorsEntry *before = nullptr;
  for (const SafetensorsEntry &entry : entries) {
    if (entry.offset > dataBytes || entry.length > dataBytes - entry.offset)
      fail(path, ": tensor ", entry.name, " lies at bytes ", entry.offset,
           " to ", entry.offset + entry.length, " of ", dataBytes,
           ": the file is truncated, or the header damaged");
    if (entry.offset < end)
      fail(path, ": tensors ", before->name, " and ", entry.name,
           " overlap: bytes ", before->offset, " to ", end, " and ",
           entry.offset, " to ", entry.offset + entry.length);
    if (entry.offset > end)
      fail(path, ": bytes ", end, " to ", entry.offset,
           ", before those of tensor ", entry.name, ", belong to no tensor");
    end = entry.offset + entry.length;
    before = &entry;
  }
  if (end != dataBytes)
    fail(path, ": has ", dataBytes, " bytes of values, and its tensors take ",
         end);
}

void checkSize(const SafetensorsEntry &entry, const std::string &path) {
  uint64_t bytes = elementSize(entry.dtype);
  for (int64_t dim : entry.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(std::max<int64_t>(dim, 1)),
                               &bytes))
      fail(path, ": tensor ", entry.name, " has a shape that is not possible");
  if (std::ranges::find(entry.shape, 0) != entry.shape.end())
    bytes = 0;
  if (entry.dtype != plan::INVALID && bytes != entry.length)
    fail(path, ": tensor ", entry.name, " expects ", bytes, " bytes, got ",
         entry.length);
}

} // namespace

std::map<std::string, SafetensorsEntry>
readSafetensorsHeader(const Descriptor &file, const std::string &path,
                      std::map<std::string, std::string> *metadata) {
  uint64_t fileSize = file.regularSize(path);
  uint64_t length = 0;
  if (fileSize < sizeof(length))
    fail(path, " is not a safetensors file: it has ", fileSize, " bytes");
  file.readAt(0, &length, sizeof(length), path);
  if (length > fileSize - sizeof(length) || length > longestHeader)
    fail(path, " is not a safetensors file, or it is truncated: a header of ",
         length, " bytes in a file of ", fileSize,
         length > longestHeader ? concat("; at most ", longestHeader) : "");
  std::string text(length, '\0');
  file.readAt(sizeof(length), text.data(), length, path);
  HeaderReader reader;
  if (!Json::sax_parse(text, &reader))
    fail(path, ": ", reader.problem);
  if (metadata)
    *metadata = std::move(reader.metadata);
  uint64_t dataBegin = sizeof(length) + length;
  checkLayout(reader.entries, fileSize - dataBegin, path);
  std::map<std::string, SafetensorsEntry> entries;
  for (SafetensorsEntry &entry : reader.entries) {
    checkSize(entry, path);
    entry.offset += dataBegin;
    entries.emplace(entry.name, entry);
  }
  return entries;
}

std::string safetensorsHeader(
    const std::vector<SafetensorsEntry> &entries,
    const std::vector<std::pair<std::string, std::string>> &metadata) {
  // Ordered as given: the header then reads in the order of the data.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const auto &[name, text] : metadata)
    header["__metadata__"][name] = text;
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

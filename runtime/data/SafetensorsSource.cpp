// Samples in a tensor of a safetensors file.
#include "runtime/data/SafetensorsSource.h"

#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"
#include "runtime/data/ArraySource.h"
#include "runtime/files/Safetensors.h"

#include <cstring>

namespace shardc::runtime {

bool looksLikeSafetensors(std::span<const std::byte> begin, uint64_t fileSize) {
  uint64_t length = 0;
  if (begin.size() < 9)
    return false;
  std::memcpy(&length, begin.data(), sizeof(length));
  return static_cast<char>(begin[8]) == '{' && length < 100'000'000 &&
         fileSize > 8;
}

std::unique_ptr<Source> openSafetensors(SampleType type,
                                        const std::string &path,
                                        Descriptor file,
                                        const std::string &column) {
  std::map<std::string, SafetensorsEntry> entries =
      readSafetensorsHeader(file, path);
  auto found = entries.find(column);
  if (found == entries.end()) {
    std::vector<std::string> names;
    for (const auto &[name, entry] : entries)
      names.push_back(name);
    fail(path, ": has no tensor ", column, suggestion(column, names),
         entries.empty()
             ? ""
             : concat("; it has ", entries.size(),
                      entries.size() == 1 ? " tensor, " : " tensors, from ",
                      names.front(),
                      entries.size() == 1 ? "" : " to " + names.back(),
                      "; give column=NAME"));
  }
  const SafetensorsEntry &entry = found->second;
  if (entry.dtype == plan::INVALID)
    fail(path, ": tensor ", column, " has a dtype that is not supported");
  if (entry.shape.empty())
    fail(path, ": tensor ", column,
         " is a single number; expects a first axis of samples");
  StoredArray array{entry.dtype, entry.shape, entry.offset};
  return std::make_unique<ArraySource>(std::move(type), path, std::move(file),
                                       std::move(array));
}

} // namespace shardc::runtime

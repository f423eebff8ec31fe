// Tables of FlatBuffers.
#include "runtime/data/FlatTable.h"

#include "runtime/base/Error.h"

namespace shardc::runtime {

FlatTable FlatTable::root(std::span<const std::byte> bytes,
                          const std::string &name) {
  uint32_t begin = 0;
  if (bytes.size() < sizeof(begin))
    fail(name, ": its metadata are damaged: ", bytes.size(), " bytes");
  std::memcpy(&begin, bytes.data(), sizeof(begin));
  return {bytes, name, begin};
}

FlatTable::FlatTable(std::span<const std::byte> bytes, const std::string &name,
                     size_t begin)
    : bytes(bytes), name(&name), begin(begin) {
  // The list of fields may lie before or behind the table.
  int64_t at = static_cast<int64_t>(begin) - load<int32_t>(begin);
  check(at < 0 ? bytes.size() : static_cast<size_t>(at), 4);
  fields = static_cast<size_t>(at);
  fieldsSize = load<uint16_t>(fields);
  check(fields, fieldsSize);
}

void FlatTable::check(size_t begin, size_t size) const {
  if (begin > bytes.size() || size > bytes.size() - begin)
    fail(*name, ": its metadata are damaged: they lead to byte ", begin, " of ",
         bytes.size());
}

size_t FlatTable::position(int field) const {
  size_t slot = 4 + 2 * static_cast<size_t>(field);
  if (slot + 2 > fieldsSize)
    return 0;
  uint16_t offset = load<uint16_t>(fields + slot);
  return offset ? begin + offset : 0;
}

std::optional<FlatTable> FlatTable::table(int field) const {
  size_t at = position(field);
  if (!at)
    return std::nullopt;
  return FlatTable(bytes, *name, follow(at));
}

std::pair<uint32_t, size_t> FlatTable::vector(int field,
                                              size_t elementSize) const {
  size_t at = position(field);
  if (!at)
    return {0, 0};
  at = follow(at);
  auto count = load<uint32_t>(at);
  check(at + 4, size_t(count) * elementSize);
  return {count, at + 4};
}

std::string_view FlatTable::text(int field) const {
  auto [size, at] = vector(field, 1);
  return {reinterpret_cast<const char *>(bytes.data()) + at, size};
}

std::vector<FlatTable> FlatTable::tables(int field) const {
  auto [count, at] = vector(field, 4);
  std::vector<FlatTable> all;
  for (uint32_t i = 0; i < count; ++i)
    all.push_back(FlatTable(bytes, *name, follow(at + 4 * size_t(i))));
  return all;
}

std::vector<std::pair<int64_t, int64_t>> FlatTable::pairs(int field) const {
  auto [count, at] = vector(field, 16);
  std::vector<std::pair<int64_t, int64_t>> all(count);
  for (uint32_t i = 0; i < count; ++i)
    all[i] = {load<int64_t>(at + 16 * size_t(i)),
              load<int64_t>(at + 16 * size_t(i) + 8)};
  return all;
}

} // namespace shardc::runtime

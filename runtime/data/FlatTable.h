// Tables of FlatBuffers, read without generated code: Arrow's messages use few
// of them. Nothing outside of the given bytes is read, whatever they hold.
// Format: https://flatbuffers.dev/internals/
#ifndef SHARDC_RUNTIME_DATA_FLATTABLE_H
#define SHARDC_RUNTIME_DATA_FLATTABLE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// One table. Fields have numbers, in the order of the schema; one that is
/// absent has its default.
class FlatTable {
public:
  /// The root of a buffer, which must outlive this. Errors begin with `name`.
  static FlatTable root(std::span<const std::byte> bytes,
                        const std::string &name);

  template <typename Scalar>
  Scalar scalar(int field, Scalar otherwise = Scalar()) const {
    size_t begin = position(field);
    return begin ? load<Scalar>(begin) : otherwise;
  }
  std::optional<FlatTable> table(int field) const;
  std::string_view text(int field) const;
  std::vector<FlatTable> tables(int field) const;
  /// A vector of structs that are pairs of int64.
  std::vector<std::pair<int64_t, int64_t>> pairs(int field) const;

private:
  FlatTable(std::span<const std::byte> bytes, const std::string &name,
            size_t begin);

  template <typename Scalar> Scalar load(size_t begin) const {
    Scalar value;
    check(begin, sizeof(Scalar));
    std::memcpy(&value, bytes.data() + begin, sizeof(Scalar));
    return value;
  }
  void check(size_t begin, size_t size) const;
  /// Where a field's value begins; 0: it is absent.
  size_t position(int field) const;
  /// Where what an offset leads to begins.
  size_t follow(size_t begin) const { return begin + load<uint32_t>(begin); }
  /// The number of elements of a vector, and where the first one begins.
  std::pair<uint32_t, size_t> vector(int field, size_t elementSize) const;

  std::span<const std::byte> bytes;
  const std::string *name;
  size_t begin, fields; // of the table and of the list of its fields
  uint16_t fieldsSize;
};

} // namespace shardc::runtime

#endif

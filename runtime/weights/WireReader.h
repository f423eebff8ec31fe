// Protobuf's wire format, field by field, over bytes that stay where they are.
// For files whose values are too large to parse.
// https://protobuf.dev/programming-guides/encoding
#ifndef SHARDC_RUNTIME_WEIGHTS_WIREREADER_H
#define SHARDC_RUNTIME_WEIGHTS_WIREREADER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

class WireReader {
public:
  /// `name` begins every error. `fileOffset`: where the bytes lie in their
  /// file.
  WireReader(std::span<const std::byte> bytes, std::string name,
             uint64_t fileOffset = 0);

  /// Goes to the next field; false at the end. Throws an Error where the bytes
  /// are no message.
  bool next();
  uint32_t field() const { return currentField; }

  /// Where the field begins, tag included, and where the next one does; in
  /// bytes from the begin of this message.
  size_t fieldBegin() const { return begin; }
  size_t fieldEnd() const { return position; }

  /// The value of a varint field; 0 of others.
  uint64_t integer() const { return value; }
  /// The bytes of a length-delimited field; empty for others.
  std::span<const std::byte> bytes() const { return payload; }
  std::string text() const;
  /// Where bytes() lie in the file.
  uint64_t offset() const;
  WireReader message() const;
  /// A repeated integer field, packed or not.
  void appendIntegers(std::vector<int64_t> &values) const;

private:
  uint64_t varint();
  [[noreturn]] void damaged() const;

  std::span<const std::byte> all;
  std::string name;
  uint64_t fileOffset;
  size_t begin = 0, position = 0;
  uint32_t currentField = 0;
  uint32_t wireType = 0;
  uint64_t value = 0;
  std::span<const std::byte> payload;
};

/// A varint, and the begin of a length-delimited field.
void appendVarint(std::string &to, uint64_t value);
void appendLengthField(std::string &to, uint32_t field, uint64_t length);
void appendIntegerField(std::string &to, uint32_t field, uint64_t value);
void appendTextField(std::string &to, uint32_t field, const std::string &text);

} // namespace shardc::runtime

#endif

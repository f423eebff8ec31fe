// Protobuf's wire format, field by field.
#include "runtime/weights/WireReader.h"

#include "runtime/base/Error.h"

#include <utility>

namespace shardc::runtime {

namespace {
enum WireType { varintType = 0, fixed64 = 1, lengthDelimited = 2, fixed32 = 5 };
}

WireReader::WireReader(std::span<const std::byte> bytes, std::string name,
                       uint64_t fileOffset)
    : all(bytes), name(std::move(name)), fileOffset(fileOffset) {}

void WireReader::damaged() const {
  fail(name, " is truncated or not what it should be: byte ",
       fileOffset + position, " begins no protobuf field");
}

uint64_t WireReader::varint() {
  uint64_t result = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (position == all.size())
      damaged();
    auto byte = static_cast<uint8_t>(all[position++]);
    result |= uint64_t(byte & 127) << shift;
    if (!(byte & 128))
      return result;
  }
  damaged();
}

bool WireReader::next() {
  if (position == all.size())
    return false;
  begin = position;
  uint64_t tag = varint();
  currentField = static_cast<uint32_t>(tag >> 3);
  wireType = tag & 7;
  value = 0;
  payload = {};
  size_t length = 0;
  switch (wireType) {
  case varintType:
    value = varint();
    break;
  case fixed64:
    length = 8;
    break;
  case fixed32:
    length = 4;
    break;
  case lengthDelimited: {
    uint64_t given = varint();
    if (given > all.size() - position)
      damaged();
    length = given;
    payload = all.subspan(position, length);
    break;
  }
  default:
    damaged();
  }
  if (currentField == 0 || length > all.size() - position)
    damaged();
  position += length;
  return true;
}

std::string WireReader::text() const {
  return {reinterpret_cast<const char *>(payload.data()), payload.size()};
}

uint64_t WireReader::offset() const {
  return fileOffset + position - payload.size();
}

WireReader WireReader::message() const {
  return WireReader(payload, name, offset());
}

void WireReader::appendIntegers(std::vector<int64_t> &values) const {
  if (wireType == varintType) {
    values.push_back(static_cast<int64_t>(value));
    return;
  }
  WireReader packed = message();
  while (packed.position < packed.all.size())
    values.push_back(static_cast<int64_t>(packed.varint()));
}

void appendVarint(std::string &to, uint64_t value) {
  for (; value >= 128; value >>= 7)
    to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

void appendLengthField(std::string &to, uint32_t field, uint64_t length) {
  appendVarint(to, field << 3 | lengthDelimited);
  appendVarint(to, length);
}

void appendIntegerField(std::string &to, uint32_t field, uint64_t value) {
  appendVarint(to, field << 3 | varintType);
  appendVarint(to, value);
}

void appendTextField(std::string &to, uint32_t field, const std::string &text) {
  appendLengthField(to, field, text.size());
  to += text;
}

} // namespace shardc::runtime

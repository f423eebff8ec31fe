// A record as bytes: its numbers in their order, vectors behind their lengths.
#include "runtime/metrics/RankRecord.h"

#include "runtime/base/Error.h"

#include <cstring>
#include <type_traits>

namespace shardc::runtime {
namespace {

class Encoder {
public:
  template <typename T> void add(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *begin = reinterpret_cast<const std::byte *>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof(T));
  }
  template <typename T> void add(const std::vector<T> &values) {
    add(static_cast<int64_t>(values.size()));
    for (const T &value : values)
      add(value);
  }
  std::vector<std::byte> bytes;
};

class Decoder {
public:
  explicit Decoder(std::span<const std::byte> bytes) : left(bytes) {}
  template <typename T> void take(T &value) {
    if (left.size() < sizeof(T))
      fail("a rank's record ends early");
    std::memcpy(&value, left.data(), sizeof(T));
    left = left.subspan(sizeof(T));
  }
  template <typename T> void take(std::vector<T> &values) {
    int64_t size;
    take(size);
    if (size < 0 || static_cast<size_t>(size) > left.size() / sizeof(T))
      fail("a rank's record ends early");
    values.resize(size);
    for (T &value : values)
      take(value);
  }

private:
  std::span<const std::byte> left;
};

/// Calls visit with every part of a record, in one order.
template <typename Record, typename Visit>
void forParts(Record &record, const Visit &visit) {
  visit(record.rank);
  visit(record.train.runs);
  visit(record.train.seconds);
  visit(record.train.gemmSeconds);
  visit(record.train.entrySeconds);
  visit(record.train.entryRuns);
  visit(record.events);
  visit(record.poolBytes);
  visit(record.ranksOfProcess);
  visit(record.memory);
  visit(record.traffic);
}

} // namespace

std::vector<std::byte> RankRecord::encode() const {
  Encoder encoder;
  forParts(*this, [&](const auto &part) { encoder.add(part); });
  return std::move(encoder.bytes);
}

RankRecord RankRecord::decode(std::span<const std::byte> bytes) {
  RankRecord record;
  Decoder decoder(bytes);
  forParts(record, [&](auto &part) { decoder.take(part); });
  return record;
}

} // namespace shardc::runtime

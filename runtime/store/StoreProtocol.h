// The messages of torch's TCPStore, as far as they are used here. A client
// sends a byte that says what it asks, then its arguments; numbers are little
// endian, a text is its length in 8 bytes and then itself. Answers come in
// the order of the questions.
#ifndef SHARDC_RUNTIME_STORE_STOREPROTOCOL_H
#define SHARDC_RUNTIME_STORE_STOREPROTOCOL_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

enum class StoreQuery : uint8_t {
  Validate = 0,   // magic, 4 bytes: the first message of a connection
  Set = 1,        // key, value; no answer
  CompareSet = 2, // key, expected, desired: value
  Get = 3,        // key, which is there: value
  Add = 4,        // key, 8 bytes: 8 bytes
  Check = 5,      // number of keys, keys: 1 byte, a StoreCheck
  Wait = 6, // number of keys, keys: 1 byte, a StoreWait, once all are there
  CountKeys = 7,   // 8 bytes
  Delete = 8,      // key: 8 bytes, 1 where it was there
  CancelWait = 12, // 1 byte, a StoreWait
  Ping = 13,       // 4 bytes: the same 4 bytes
};
enum class StoreCheck : uint8_t { Ready = 0, NotReady = 1 };
enum class StoreWait : uint8_t { Done = 0, Cancelled = 1 };

inline constexpr uint32_t storeMagic = 0x3C85F7CE;
/// torch's servers close the connection of who sends more.
inline constexpr uint64_t mostKeyBytes = 8 << 10;
inline constexpr uint64_t mostValueBytes = 8 << 20;
inline constexpr uint64_t mostKeys = 128 << 10;

/// A message that is being put together: a question or an answer.
class StoreMessage {
public:
  StoreMessage() = default;
  explicit StoreMessage(StoreQuery query) {
    number(static_cast<uint8_t>(query));
  }
  template <typename Number> StoreMessage &number(Number value) {
    static_assert(std::is_integral_v<Number> || std::is_enum_v<Number>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  StoreMessage &text(std::string_view value) {
    number(uint64_t(value.size()));
    bytes.append(value);
    return *this;
  }
  StoreMessage &texts(const std::vector<std::string> &values) {
    number(uint64_t(values.size()));
    for (const std::string &value : values)
      text(value);
    return *this;
  }

  std::string bytes;
};

} // namespace shardc::runtime

#endif

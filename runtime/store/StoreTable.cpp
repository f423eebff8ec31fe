// What a server of the store has, and who waits for what.
#include "runtime/store/StoreTable.h"

#include "runtime/base/Error.h"
#include "runtime/store/StoreProtocol.h"

#include <charconv>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Reads a message that may not be whole yet: each function returns whether it
/// could. A length that is too long is an Error before its bytes are there, so
/// that nobody makes the server keep more than a message may have.
class StoreTable::Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  template <typename Number> bool number(Number &value) {
    if (bytes.size() - at < sizeof(value))
      return false;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    at += sizeof(value);
    return true;
  }
  bool key(std::string &value) { return text(value, mostKeyBytes); }
  bool value(std::string &value) { return text(value, mostValueBytes); }
  bool keys(std::vector<std::string> &values) {
    uint64_t count = 0;
    if (!number(count))
      return false;
    if (count > mostKeys)
      fail(count, " keys in one message, at most ", mostKeys);
    // Together they have what one value may have.
    size_t begin = at;
    for (uint64_t i = 0; i < count; ++i) {
      if (at - begin > mostValueBytes)
        fail("keys of more than ", mostValueBytes, " bytes in one message");
      if (!key(values.emplace_back()))
        return false;
    }
    return true;
  }
  size_t position() const { return at; }

private:
  bool text(std::string &value, uint64_t most) {
    uint64_t size = 0;
    if (!number(size))
      return false;
    if (size > most)
      fail("a text of ", size, " bytes, at most ", most);
    if (bytes.size() - at < size)
      return false;
    value.assign(bytes.substr(at, size));
    at += size;
    return true;
  }

  std::string_view bytes;
  size_t at = 0;
};

static void answer(StoreTable::Client &client, const StoreMessage &message) {
  client.answers += message.bytes;
}
static void answer(StoreTable::Client &client, StoreWait wait) {
  answer(client, StoreMessage().number(wait));
}

void StoreTable::store(const std::string &key, std::string value) {
  if (!values.insert_or_assign(key, std::move(value)).second)
    return;
  for (Client *client : clients)
    if (client->awaited.erase(key) && client->awaited.empty())
      answer(*client, StoreWait::Done);
}

bool StoreTable::compareSet(Client &client, Reader &reader) {
  std::string key, expected, desired;
  if (!reader.key(key) || !reader.value(expected) || !reader.value(desired))
    return false;
  auto found = values.find(key);
  bool matches =
      found == values.end() ? expected.empty() : found->second == expected;
  std::string now = matches                 ? desired
                    : found == values.end() ? expected
                                            : found->second;
  answer(client, StoreMessage().text(now));
  if (matches)
    store(key, std::move(desired));
  return true;
}

bool StoreTable::add(Client &client, Reader &reader) {
  std::string key;
  int64_t number = 0, sum = 0;
  if (!reader.key(key) || !reader.number(number))
    return false;
  if (auto found = values.find(key); found != values.end()) {
    const std::string &text = found->second;
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, sum);
    if (error != std::errc() || stop != end)
      fail("adding to what is no number");
  }
  sum = static_cast<int64_t>(uint64_t(sum) + uint64_t(number));
  answer(client, StoreMessage().number(sum));
  store(key, std::to_string(sum));
  return true;
}

bool StoreTable::wait(Client &client, Reader &reader, bool isCheck) {
  std::vector<std::string> keys;
  if (!reader.keys(keys))
    return false;
  std::set<std::string, std::less<>> missing;
  for (std::string &key : keys)
    if (!values.contains(key))
      missing.insert(std::move(key));
  if (isCheck) {
    answer(client,
           StoreMessage().number(missing.empty() ? StoreCheck::Ready
                                                 : StoreCheck::NotReady));
    return true;
  }
  if (!client.awaited.empty())
    fail("a second wait before the first one's end");
  if (missing.empty())
    answer(client, StoreWait::Done);
  client.awaited = std::move(missing);
  return true;
}

bool StoreTable::handleOne(Client &client, Reader &reader) {
  uint8_t byte = 0;
  if (!reader.number(byte))
    return false;
  auto query = static_cast<StoreQuery>(byte);
  if (client.isValidated == (query == StoreQuery::Validate))
    fail("message ", int(byte), client.isValidated ? " again" : " first");
  std::string key, value;
  switch (query) {
  case StoreQuery::Validate: {
    uint32_t magic = 0;
    if (!reader.number(magic))
      return false;
    if (magic != storeMagic)
      fail("the first number is ", magic);
    client.isValidated = true;
    return true;
  }
  case StoreQuery::Set:
    if (!reader.key(key) || !reader.value(value))
      return false;
    store(key, std::move(value));
    return true;
  case StoreQuery::CompareSet:
    return compareSet(client, reader);
  case StoreQuery::Get: {
    if (!reader.key(key))
      return false;
    auto found = values.find(key);
    if (found == values.end())
      fail("a get of what is not there");
    answer(client, StoreMessage().text(found->second));
    return true;
  }
  case StoreQuery::Add:
    return add(client, reader);
  case StoreQuery::Check:
  case StoreQuery::Wait:
    return wait(client, reader, query == StoreQuery::Check);
  case StoreQuery::CountKeys:
    answer(client, StoreMessage().number(int64_t(values.size())));
    return true;
  case StoreQuery::Delete:
    if (!reader.key(key))
      return false;
    answer(client, StoreMessage().number(int64_t(values.erase(key))));
    return true;
  case StoreQuery::CancelWait:
    client.awaited.clear();
    answer(client, StoreWait::Cancelled);
    return true;
  case StoreQuery::Ping: {
    uint32_t nonce = 0;
    if (!reader.number(nonce))
      return false;
    answer(client, StoreMessage().number(nonce));
    return true;
  }
  }
  fail("message ", int(byte), ", which this server does not know");
}

size_t StoreTable::handle(Client &client, std::string_view bytes) {
  size_t taken = 0;
  while (client.answers.size() < mostAnswers) {
    Reader reader(bytes.substr(taken));
    if (!handleOne(client, reader))
      break;
    taken += reader.position();
  }
  return taken;
}

} // namespace shardc::runtime

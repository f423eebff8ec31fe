// A store at another process.
#include "runtime/store/TcpStoreClient.h"

#include "runtime/base/Text.h"
#include "runtime/store/Connection.h"
#include "runtime/store/StoreProtocol.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

namespace shardc::runtime {

using std::chrono::milliseconds;

/// How long something that listens may take to show that it is a store.
static constexpr milliseconds patience{3000};
static constexpr milliseconds firstPause{20}, longestPause{500};

static std::string secondsSince(Clock::time_point begin) {
  std::chrono::duration<double> waited = Clock::now() - begin;
  return format("%.3g s", waited.count());
}

std::unique_ptr<Connection> TcpStoreClient::open(const std::string &host,
                                                 uint16_t port,
                                                 Deadline deadline) const {
  auto connection = std::make_unique<Connection>(host, port, deadline);
  Deadline answer = std::min(deadline, after(patience));
  auto nonce = static_cast<uint32_t>(getpid());
  StoreMessage hello(StoreQuery::Validate);
  hello.number(storeMagic).number(StoreQuery::Ping).number(nonce);
  try {
    connection->send(hello.bytes, answer);
    auto echo = connection->receiveNumber<uint32_t>(answer);
    if (echo != nonce)
      fail("it is no store: it answers ", echo, " to ", nonce);
    if (job.empty())
      return connection;
    connection->send(StoreMessage(StoreQuery::Check).texts({jobKey}).bytes,
                     answer);
    if (connection->receiveNumber<StoreCheck>(answer) != StoreCheck::Ready)
      fail("it is the store of another program than this one");
    connection->send(StoreMessage(StoreQuery::Get).text(jobKey).bytes, answer);
    std::string other = connection->receiveText(mostValueBytes, answer);
    if (other != job)
      fail("it is the store of another job: '", other, "', and this is '", job,
           "'");
  } catch (const Error &error) {
    fail(addressText(host, port),
         " is taken by something else: ", error.what());
  }
  return connection;
}

std::unique_ptr<Connection> TcpStoreClient::openAgain(Deadline deadline) const {
  try {
    return open(host, port, deadline);
  } catch (const StoreTimeout &) {
    throw;
  } catch (const Error &error) {
    // What had no time left to show itself is not known to be gone.
    if (Clock::now() >= deadline)
      throw StoreTimeout(error.what());
    throw StoreLost(concat("it is gone: ", error.what()));
  }
}

TcpStoreClient::TcpStoreClient(const std::vector<StoreAddress> &addresses,
                               const std::string &job,
                               const std::string &prefix, Deadline deadline)
    : job(job), prefix(prefix) {
  Clock::time_point begin = Clock::now();
  std::string last;
  for (milliseconds pause = firstPause;;
       pause = std::min(2 * pause, longestPause)) {
    std::string round;
    for (const StoreAddress &address : addresses)
      for (int i = 0; i < address.ports; ++i)
        try {
          host = address.host;
          port = static_cast<uint16_t>(address.port + i);
          // A host that swallows what is sent to it may not keep from the next.
          bool isOnly = addresses.size() == 1 && address.ports == 1;
          Deadline each =
              isOnly ? deadline : std::min(deadline, after(patience));
          idle.push_back(open(host, port, each));
          return;
        } catch (const Error &error) {
          // Of many ports that nobody has, one is said.
          if (i == 0 || std::string(error.what()).find(" is taken by ") !=
                            std::string::npos)
            round += (round.empty() ? "" : "; ") + std::string(error.what());
        }
    last = round;
    std::this_thread::sleep_until(std::min(Clock::now() + pause, deadline));
    if (Clock::now() >= deadline)
      break;
  }
  throw StoreTimeout(concat("found no store of this run within ",
                            secondsSince(begin), ": ", last));
}

TcpStoreClient::~TcpStoreClient() = default;

std::string TcpStoreClient::name() const { return addressText(host, port); }

std::string TcpStoreClient::stored(const std::string &key) const {
  std::string all = "/" + (prefix.empty() ? "" : prefix + "/") + key;
  if (all.size() > mostKeyBytes)
    fail("a key of a store has at most ", mostKeyBytes, " bytes, got ",
         all.size());
  return all;
}

static void checkValue(const std::string &key, const std::string &value) {
  if (value.size() > mostValueBytes)
    fail("a value of a store has at most ", mostValueBytes, " bytes, got ",
         value.size(), " for '", key, "'");
}

template <typename Body>
auto TcpStoreClient::ask(std::string_view what, const std::string &key,
                         Deadline deadline, Body &&body) {
  Clock::time_point begin = Clock::now();
  std::unique_ptr<Connection> connection;
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      connection = std::move(idle.back());
      idle.pop_back();
    }
  }
  try {
    if (!connection)
      connection = openAgain(deadline);
    auto answer = body(*connection);
    std::lock_guard lock(mutex);
    idle.push_back(std::move(connection));
    return answer;
  } catch (const StoreTimeout &) {
    throw StoreTimeout(concat(what, " '", key, "' of the store at ", name(),
                              ": not done within ", secondsSince(begin)));
  } catch (const StoreLost &lost) {
    throw StoreLost(concat(what, " '", key, "' of the store at ", name(), ": ",
                           lost.what()));
  } catch (const Error &error) {
    fail(what, " '", key, "' of the store at ", name(), ": ", error.what());
  }
}

void TcpStoreClient::set(const std::string &key, const std::string &value,
                         Deadline deadline) {
  std::string where = stored(key);
  checkValue(key, value);
  // A set has no answer, so that a second question tells when it is done: other
  // connections see it from then on.
  StoreMessage message(StoreQuery::Set);
  message.text(where).text(value).number(StoreQuery::Check).texts({where});
  ask("setting", key, deadline, [&](Connection &connection) {
    connection.send(message.bytes, deadline);
    return connection.receiveNumber<StoreCheck>(deadline);
  });
}

void TcpStoreClient::waitOn(Connection &connection,
                            const std::vector<std::string> &keys,
                            Deadline deadline) {
  connection.send(StoreMessage(StoreQuery::Wait).texts(keys).bytes, deadline);
  auto answer = connection.receiveNumber<StoreWait>(deadline);
  if (answer != StoreWait::Done)
    fail("it answers ", int(answer), " to a wait");
}

std::string TcpStoreClient::get(const std::string &key, Deadline deadline) {
  std::string where = stored(key);
  return ask("waiting for", key, deadline, [&](Connection &connection) {
    waitOn(connection, {where}, deadline);
    connection.send(StoreMessage(StoreQuery::Get).text(where).bytes, deadline);
    return connection.receiveText(mostValueBytes, deadline);
  });
}

int64_t TcpStoreClient::add(const std::string &key, int64_t number,
                            Deadline deadline) {
  StoreMessage message(StoreQuery::Add);
  message.text(stored(key)).number(number);
  return ask("adding to", key, deadline, [&](Connection &connection) {
    connection.send(message.bytes, deadline);
    return connection.receiveNumber<int64_t>(deadline);
  });
}

void TcpStoreClient::wait(const std::vector<std::string> &keys,
                          Deadline deadline) {
  if (keys.empty())
    return;
  if (keys.size() > mostKeys)
    fail("one wait is for at most ", mostKeys, " keys, got ", keys.size());
  std::vector<std::string> all;
  for (const std::string &key : keys)
    all.push_back(stored(key));
  std::string what = keys.size() == 1
                         ? "waiting for"
                         : concat("waiting for ", keys.size(), " keys, first");
  ask(what, keys.front(), deadline, [&](Connection &connection) {
    waitOn(connection, all, deadline);
    return true;
  });
}

bool TcpStoreClient::has(const std::string &key, Deadline deadline) {
  StoreMessage message(StoreQuery::Check);
  message.texts({stored(key)});
  return ask("looking for", key, deadline, [&](Connection &connection) {
           connection.send(message.bytes, deadline);
           return connection.receiveNumber<StoreCheck>(deadline);
         }) == StoreCheck::Ready;
}

std::string TcpStoreClient::compareSet(const std::string &key,
                                       const std::string &expected,
                                       const std::string &desired,
                                       Deadline deadline) {
  checkValue(key, expected);
  checkValue(key, desired);
  StoreMessage message(StoreQuery::CompareSet);
  message.text(stored(key)).text(expected).text(desired);
  return ask("setting", key, deadline, [&](Connection &connection) {
    connection.send(message.bytes, deadline);
    return connection.receiveText(mostValueBytes, deadline);
  });
}

} // namespace shardc::runtime

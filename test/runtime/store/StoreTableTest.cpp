// What a store answers to each message, byte by byte.
#include "runtime/store/StoreTable.h"
#include "runtime/base/Error.h"
#include "runtime/store/StoreProtocol.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

struct Peer : StoreTable::Client {
  explicit Peer(StoreTable &table) : table(table) {
    table.add(this);
    StoreMessage hello(StoreQuery::Validate);
    send(hello.number(storeMagic));
  }
  ~Peer() { table.remove(this); }
  /// The bytes that were taken.
  size_t send(const StoreMessage &message) {
    return table.handle(*this, message.bytes);
  }
  std::string answered() { return std::exchange(answers, ""); }
  std::string ask(const StoreMessage &message) {
    EXPECT_EQ(send(message), message.bytes.size());
    return answered();
  }

  StoreTable &table;
};

StoreMessage ask(StoreQuery query) { return StoreMessage(query); }
std::string text(std::string_view value) {
  return StoreMessage().text(value).bytes;
}
std::string number(int64_t value) { return StoreMessage().number(value).bytes; }

} // namespace

TEST(StoreTable, AnswersWhatItHas) {
  StoreTable table;
  Peer peer(table);
  EXPECT_EQ(peer.ask(ask(StoreQuery::Set).text("/a").text("hello")), "");
  EXPECT_EQ(peer.ask(ask(StoreQuery::Get).text("/a")), text("hello"));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Check).texts({"/a"})),
            std::string("\0", 1));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Check).texts({"/a", "/b"})), "\1");
  EXPECT_EQ(peer.ask(ask(StoreQuery::Add).text("/n").number(int64_t(5))),
            number(5));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Add).text("/n").number(int64_t(-7))),
            number(-2));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Get).text("/n")), text("-2"));
  EXPECT_EQ(peer.ask(ask(StoreQuery::CountKeys)), number(2));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Delete).text("/n")), number(1));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Delete).text("/n")), number(0));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Ping).number(uint32_t(77))),
            StoreMessage().number(uint32_t(77)).bytes);
}

TEST(StoreTable, TheFirstToCompareAndSetWins) {
  StoreTable table;
  Peer peer(table);
  auto set = [&](const char *expected, const char *desired) {
    return peer.ask(
        ask(StoreQuery::CompareSet).text("/f").text(expected).text(desired));
  };
  // What is not there is equal to nothing alone.
  EXPECT_EQ(set("x", "rank 1"), text("x"));
  EXPECT_EQ(peer.ask(ask(StoreQuery::Check).texts({"/f"})), "\1");
  EXPECT_EQ(set("", "rank 3"), text("rank 3"));
  EXPECT_EQ(set("", "rank 5"), text("rank 3"));
  EXPECT_EQ(set("rank 3", "rank 6"), text("rank 6"));
}

TEST(StoreTable, AWaitEndsWithTheLastOfItsKeys) {
  StoreTable table;
  Peer waiting(table), setting(table);
  const std::string done("\0", 1);
  EXPECT_EQ(waiting.ask(ask(StoreQuery::Wait).texts({"/a", "/b", "/a"})), "");
  setting.send(ask(StoreQuery::Set).text("/b").text(""));
  EXPECT_EQ(waiting.answered(), "");
  setting.send(ask(StoreQuery::Add).text("/a").number(int64_t(1)));
  EXPECT_EQ(waiting.answered(), done);
  EXPECT_EQ(waiting.ask(ask(StoreQuery::Wait).texts({"/a", "/b"})), done);
  EXPECT_EQ(waiting.ask(ask(StoreQuery::Wait).texts({"/c"})), "");
  EXPECT_EQ(waiting.ask(ask(StoreQuery::CancelWait)), "\1");
  setting.send(ask(StoreQuery::CompareSet).text("/c").text("").text("1"));
  EXPECT_EQ(waiting.answered(), "");
}

TEST(StoreTable, TakesMessagesOfAnyPieces) {
  StoreTable table;
  Peer peer(table);
  std::string all = ask(StoreQuery::Set).text("/key").text("value").bytes +
                    ask(StoreQuery::Wait).texts({"/key"}).bytes +
                    ask(StoreQuery::Get).text("/key").bytes;
  std::string bytes;
  for (char byte : all) {
    bytes += byte;
    bytes.erase(0, table.handle(peer, bytes));
  }
  EXPECT_EQ(bytes, "");
  EXPECT_EQ(peer.answered(), std::string("\0", 1) + text("value"));
}

TEST(StoreTable, RefusesWhatIsNoMessage) {
  StoreTable table;
  auto refuses = [&](const StoreMessage &message) {
    Peer peer(table);
    try {
      peer.send(message);
    } catch (const Error &) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses(StoreMessage().number(uint8_t(99))));
  EXPECT_TRUE(refuses(ask(StoreQuery::Validate).number(storeMagic)));
  EXPECT_TRUE(refuses(ask(StoreQuery::Get).text("/missing")));
  // Lengths are refused before what they announce has come.
  for (uint64_t size : {mostKeyBytes + 1, uint64_t(1) << 63, ~uint64_t(0)})
    EXPECT_TRUE(refuses(ask(StoreQuery::Get).number(size))) << size;
  EXPECT_FALSE(refuses(ask(StoreQuery::Get).number(mostKeyBytes)));
  EXPECT_TRUE(
      refuses(ask(StoreQuery::Set).text("/a").number(mostValueBytes + 1)));
  EXPECT_FALSE(refuses(ask(StoreQuery::Set).text("/a").number(mostValueBytes)));
  EXPECT_TRUE(refuses(ask(StoreQuery::Wait).number(mostKeys + 1)));
  EXPECT_TRUE(refuses(ask(StoreQuery::Wait).number(~uint64_t(0))));
  // Many keys, each as long as may be: no more than a value.
  std::vector<std::string> keys(1100, std::string(mostKeyBytes, 'k'));
  EXPECT_TRUE(refuses(ask(StoreQuery::Wait).texts(keys)));
  EXPECT_FALSE(refuses(ask(StoreQuery::Set).text("/a").text("no number")));
  EXPECT_TRUE(refuses(ask(StoreQuery::Add).text("/a").number(int64_t(1))));
  StoreTable::Client other;
  EXPECT_THROW(table.handle(other, ask(StoreQuery::CountKeys).bytes), Error);
  EXPECT_THROW(table.handle(other, std::string("\0GET /", 6)), Error);
  EXPECT_THROW(table.handle(other, "SSH-2.0-OpenSSH"), Error);
}

TEST(StoreTable, AnswersNoMoreThanIsRead) {
  StoreTable table;
  Peer peer(table);
  peer.send(
      ask(StoreQuery::Set).text("/a").text(std::string(mostValueBytes, 'a')));
  std::string gets;
  for (int i = 0; i < 100; ++i)
    gets += ask(StoreQuery::Get).text("/a").bytes;
  size_t taken = table.handle(peer, gets);
  EXPECT_EQ(taken, gets.size() / 50);
  EXPECT_EQ(peer.answered().size(), 2 * (mostValueBytes + 8));
  EXPECT_EQ(table.handle(peer, gets.substr(taken)), gets.size() / 50);
}

// A client and a server of the store over real sockets: what each does when the
// other is slow, gone, or something else. What torch's send is in
// TorchStoreTest.cpp.
#include "runtime/files/Descriptor.h"
#include "runtime/store/Connection.h"
#include "runtime/store/StoreProtocol.h"
#include "runtime/store/TcpStoreClient.h"
#include "runtime/store/TcpStoreServer.h"
#include "test/runtime/ErrorText.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace shardc::runtime;
using namespace std::chrono_literals;

namespace {

const char *const here = "127.0.0.1";

/// A server and what clients need to know of it.
struct Served {
  explicit Served(const std::string &job = "job 1") : server(0, job) {}
  std::vector<StoreAddress> addresses(const std::string &host = here) const {
    return {{host, server.port()}};
  }
  TcpStoreClient client(const std::string &prefix = "") const {
    return {addresses(), "job 1", prefix, after(5s)};
  }
  TcpStoreServer server;
};

/// A socket that listens, and says no more than it is told.
struct Stranger {
  Stranger() : listener(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto *plain = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(bind(listener.get(), plain, size), 0);
    EXPECT_EQ(listen(listener.get(), 5), 0);
    getsockname(listener.get(), plain, &size);
    port = ntohs(address.sin_port);
  }
  Descriptor listener;
  uint16_t port = 0;
};

} // namespace

TEST(TcpStore, DoesWhatAStoreDoes) {
  Served served;
  TcpStoreClient first = served.client("run/0"),
                 second = served.client("run/0"),
                 other = served.client("run/1");
  first.set("a", "hello", after(5s));
  EXPECT_EQ(second.get("a", after(5s)), "hello");
  EXPECT_TRUE(second.has("a", after(5s)));
  EXPECT_FALSE(other.has("a", after(5s)));
  EXPECT_EQ(second.add("n", 4, after(5s)), 4);
  EXPECT_EQ(first.add("n", -1, after(5s)), 3);
  EXPECT_EQ(first.compareSet("who", "", "3", after(5s)), "3");
  EXPECT_EQ(second.compareSet("who", "", "5", after(5s)), "3");
  second.wait({"a", "n", "who"}, after(5s));
  second.wait({}, after(5s));
  std::string large(mostValueBytes, 'x');
  first.set("large", large, after(20s));
  EXPECT_TRUE(second.get("large", after(20s)) == large);
  EXPECT_EQ(errorOf([&] { first.set("large", large + "x", after(5s)); }),
            "a value of a store has at most 8388608 bytes, got 8388609 for "
            "'large'");
}

TEST(TcpStore, IsReachedByNameAndByBothVersions) {
  Served served;
  TcpStoreClient byName(served.addresses("localhost"), "job 1", "", after(5s));
  byName.set("a", "1", after(5s));
  EXPECT_EQ(served.client().get("a", after(5s)), "1");
  Descriptor v6(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 loopback = {};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  if (!v6 || bind(v6.get(), reinterpret_cast<sockaddr *>(&loopback),
                  sizeof(loopback)) != 0)
    GTEST_SKIP() << "this machine has no IPv6";
  TcpStoreClient byV6(served.addresses("::1"), "job 1", "", after(5s));
  EXPECT_EQ(byV6.get("a", after(5s)), "1");
  EXPECT_EQ(byV6.name(), concat("[::1]:", served.server.port()));
}

TEST(TcpStore, ThreadsOfAClientDoNotWaitForEachOther) {
  Served served;
  TcpStoreClient client = served.client();
  std::vector<std::thread> waiting;
  std::vector<std::string> got(8);
  for (size_t i = 0; i < got.size(); ++i)
    waiting.emplace_back(
        [&, i] { got[i] = client.get("key" + std::to_string(i), after(10s)); });
  for (size_t i = got.size(); i-- > 0;)
    client.set("key" + std::to_string(i), std::to_string(i), after(5s));
  for (std::thread &thread : waiting)
    thread.join();
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], std::to_string(i));
}

TEST(TcpStore, ManyClientsAddUp) {
  Served served;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i)
    threads.emplace_back([&] {
      TcpStoreClient client = served.client();
      for (int j = 0; j < 20; ++j)
        client.add("n", 1, after(20s));
      if (client.add("n", 0, after(20s)) == 64 * 20)
        client.set("all", "1", after(20s));
      client.get("all", after(20s));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(served.client().get("n", after(5s)), "1280");
}

TEST(TcpStore, ADeadlineSaysWhatWasWaitedForWhereAndHowLong) {
  Served served;
  TcpStoreClient client = served.client();
  auto begin = Clock::now();
  std::string error = errorOf([&] { client.get("a", after(100ms)); });
  EXPECT_GE(Clock::now() - begin, 100ms);
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_EQ(error.substr(0, error.find(": not")),
            "waiting for 'a' of the store at " + client.name());
  EXPECT_NE(error.find("not done within 0.1"), std::string::npos) << error;
  EXPECT_THROW(client.wait({"a", "b"}, after(10ms)), StoreTimeout);
  // No time is left to see that the store is still there.
  EXPECT_THROW(client.wait({"a", "b"}, Clock::now()), StoreTimeout);
  // What was on its way then is not mistaken for an answer.
  client.set("a", "later", after(5s));
  EXPECT_EQ(client.get("a", after(5s)), "later");
}

TEST(TcpStore, AServerThatGoesIsAnErrorAtOnce) {
  auto served = std::make_unique<Served>();
  TcpStoreClient client = served->client();
  std::string error;
  std::thread waiting(
      [&] { error = errorOf([&] { client.get("a", after(60s)); }); });
  std::this_thread::sleep_for(50ms);
  auto begin = Clock::now();
  served.reset();
  waiting.join();
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_NE(error.find("lost the connection to"), std::string::npos) << error;
}

TEST(TcpStore, ServesOnAmongClientsThatDieAndLie) {
  Served served;
  uint16_t port = served.server.port();
  TcpStoreClient client = served.client();
  StoreMessage hello(StoreQuery::Validate);
  hello.number(storeMagic);
  std::vector<std::unique_ptr<Connection>> others;
  for (const std::string &bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\0\0", 2),
        hello.bytes + "\x01",
        hello.bytes + StoreMessage(StoreQuery::Set).number(~0ull).bytes,
        hello.bytes + StoreMessage(StoreQuery::Wait).texts({"/never"}).bytes,
        std::string(1 << 16, '\xff')}) {
    others.push_back(std::make_unique<Connection>(here, port, after(5s)));
    others.back()->send(bytes, after(5s));
  }
  // Those that the server will not understand learn it; a half message stays.
  char byte;
  for (size_t i : {0, 3})
    EXPECT_NE(errorOf([&] {
                others[i]->receive(&byte, 1, after(5s));
              }).find("lost the connection"),
              std::string::npos);
  EXPECT_THROW(others[2]->receive(&byte, 1, after(20ms)), StoreTimeout);
  others.clear();
  client.set("never", "1", after(5s));
  EXPECT_EQ(client.get("never", after(5s)), "1");
}

TEST(TcpStore, WaitsForAServerThatIsLate) {
  uint16_t port = Stranger().port;
  std::unique_ptr<TcpStoreServer> server;
  std::thread late([&] {
    std::this_thread::sleep_for(200ms);
    server = std::make_unique<TcpStoreServer>(port, "job 1");
  });
  TcpStoreClient client({{here, port}}, "job 1", "", after(20s));
  late.join();
  EXPECT_EQ(client.add("n", 1, after(5s)), 1);
  EXPECT_THROW(TcpStoreServer(port, "job 2"), PortTaken);
}

TEST(TcpStore, NobodyThereIsSaid) {
  uint16_t port = Stranger().port;
  std::string error =
      errorOf([&] { TcpStoreClient({{here, port}}, "", "", after(50ms)); });
  EXPECT_NE(error.find("found no store of this run within 0.0"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find(concat("cannot connect to 127.0.0.1:", port,
                              ": Connection refused")),
            std::string::npos)
      << error;
  error = errorOf([&] {
    TcpStoreClient({{"no-such-host.invalid", 29500}}, "", "", after(50ms));
  });
  EXPECT_NE(error.find("cannot find the host of no-such-host.invalid:29500"),
            std::string::npos)
      << error;
}

TEST(TcpStore, AnotherJobsServerIsPassedBy) {
  TcpStoreServer other(0, "job 2");
  std::vector<StoreAddress> wrong = {{here, other.port()}};
  std::string error =
      errorOf([&] { TcpStoreClient(wrong, "job 1", "", after(50ms)); });
  EXPECT_NE(error.find("it is the store of another job: 'job 2', and this is "
                       "'job 1'"),
            std::string::npos)
      << error;
  // Of several ports, the one that has this job's.
  std::unique_ptr<TcpStoreServer> own;
  int ports = 2;
  for (; !own; ++ports)
    try {
      own = std::make_unique<TcpStoreServer>(other.port() + ports - 1, "job 1");
    } catch (const PortTaken &) {
    }
  wrong.front().ports = ports;
  TcpStoreClient client(wrong, "job 1", "", after(30s));
  EXPECT_EQ(client.name(), addressText(here, own->port()));
}

TEST(TcpStore, WhatIsNoStoreIsPassedBy) {
  // It closes without a word, greets, or says nothing at all.
  for (const char *greeting : {"", "SSH-2.0-OpenSSH_9.2\r\n", "silence"}) {
    Stranger stranger;
    std::thread accepting([&] {
      Descriptor client(accept(stranger.listener.get(), nullptr, nullptr));
      if (std::string(greeting) == "silence")
        std::this_thread::sleep_for(400ms);
      else
        send(client.get(), greeting, strlen(greeting), MSG_NOSIGNAL);
    });
    std::string error = errorOf([&] {
      TcpStoreClient({{here, stranger.port}}, "job 1", "", after(200ms));
    });
    accepting.join();
    EXPECT_NE(error.find(" is taken by something else: "), std::string::npos)
        << greeting << ": " << error;
  }
}

TEST(HostAndPort, IsReadAndRefused) {
  auto parsed = parseHostAndPort("--master", "node1.cluster:29500");
  EXPECT_EQ(parsed.host, "node1.cluster");
  EXPECT_EQ(parsed.port, 29500);
  EXPECT_EQ(parseHostAndPort("--master", "[fe80::1]:80").host, "fe80::1");
  for (const char *wrong : {"", "node", "node:", ":80", "node:0", "node:65536",
                            "node:8x", "node:-1", "fe80::1", "fe80::1:80"})
    EXPECT_EQ(errorOf([&] { parseHostAndPort("--master", wrong); }),
              concat("--master expects HOST:PORT, [ADDRESS]:PORT for IPv6, "
                     "with a port from 1 to 65535, got '",
                     wrong, "'"));
}

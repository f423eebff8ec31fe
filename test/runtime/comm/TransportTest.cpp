// Conformance of transports between real processes.
#include "test/runtime/comm/TransportSuite.h"

#include <ctime>
#include <map>
#include <numeric>
#include <thread>

using namespace shardc::runtime;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Transports : public testing::TestWithParam<TransportImplementation> {
protected:
  void run(int processes, const std::function<void(Transport &)> &body) {
    GetParam().run(processes, body);
  }
};
INSTANTIATE_TEST_SUITE_P(All, Transports,
                         testing::ValuesIn(transportImplementations()),
                         [](const auto &info) { return info.param.name; });

std::vector<unsigned char> pattern(int64_t bytes, int seed) {
  std::vector<unsigned char> values(bytes);
  for (int64_t i = 0; i < bytes; ++i)
    values[i] = (unsigned char)(i * 131 + (i >> 8) + seed * 17);
  return values;
}

TEST_P(Transports, MessagesOfAChannelComeInTheirOrder) {
  run(3, [&](Transport &transport) {
    constexpr int count = 200, processes = 3;
    int own = transport.process();
    std::vector<int> out(count);
    std::iota(out.begin(), out.end(), own * 1000);
    std::map<std::pair<int, int>, std::vector<int>> in;
    int awaited = 0;
    for (int to = 0; to < processes; ++to)
      for (int channel : {1, 2, int(Transport::maxChannels) - 1})
        if (to != own)
          for (int i = 0; i < count; ++i, awaited += 2) {
            transport.send(to, channel, &out[i], sizeof(int),
                           [&] { --awaited; });
            auto &got = in[{to, channel}];
            got.resize(count);
            transport.receive(to, channel, &got[i], sizeof(int),
                              [&] { --awaited; });
          }
    progressUntil(transport, [&] { return awaited == 0; });
    for (auto &[from, got] : in)
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(got[i], from.first * 1000 + i);
    EXPECT_EQ(transport.traffic().sent, 3 * 2 * count * int(sizeof(int)));
    EXPECT_EQ(transport.traffic().received, 3 * 2 * count * int(sizeof(int)));
  });
}

TEST_P(Transports, ChannelsDoNotWaitForEachOther) {
  run(2, [&](Transport &transport) {
    int other = 1 - transport.process();
    std::vector<unsigned char> large = pattern(4 << 20, transport.process());
    std::vector<unsigned char> got(large.size());
    int sent = 0, small = 0;
    bool isThere = false;
    transport.send(other, 5, large.data(), int64_t(large.size()),
                   [&] { ++sent; });
    int value = 42;
    transport.send(other, 6, &value, sizeof(value), [&] { ++sent; });
    // Nobody asks for what was sent before.
    transport.receive(other, 6, &small, sizeof(small), [&] { isThere = true; });
    progressUntil(transport, [&] { return isThere; });
    EXPECT_EQ(small, 42);
    bool isLargeThere = false;
    transport.receive(other, 5, got.data(), int64_t(got.size()),
                      [&] { isLargeThere = true; });
    progressUntil(transport, [&] { return isLargeThere && sent == 2; });
    EXPECT_EQ(got, pattern(4 << 20, other));
  });
}

TEST_P(Transports, MessagesOfAllSizesGoBothWaysAtOnce) {
  run(2, [&](Transport &transport) {
    int other = 1 - transport.process();
    for (int64_t bytes : {0, 1, 100, 4 << 10, 60000, 256 << 10, 16 << 20}) {
      std::vector<unsigned char> out = pattern(bytes, transport.process());
      std::vector<std::vector<unsigned char>> in(3);
      int awaited = 6;
      for (auto &each : in) {
        each.resize(bytes);
        transport.send(other, 1, out.data(), bytes, [&] { --awaited; });
        transport.receive(other, 1, each.data(), bytes, [&] { --awaited; });
      }
      progressUntil(transport, [&] { return awaited == 0; });
      for (auto &each : in)
        ASSERT_EQ(each, pattern(bytes, other)) << bytes;
    }
  });
}

/// Small ones may be there before large ones that were sent earlier: whoever
/// passes messages on would pass them on in another order.
TEST_P(Transports, MessagesOfAChannelEndInTheirOrder) {
  run(2, [&](Transport &transport) {
    constexpr int count = 64;
    int other = 1 - transport.process();
    auto bytesOf = [](int i) -> int64_t { return i % 3 ? 24 : 1 << 20; };
    std::vector<std::vector<unsigned char>> out(count), in(count);
    std::vector<int> order;
    int sent = 0;
    for (int i = 0; i < count; ++i) {
      out[i] = pattern(bytesOf(i), i);
      in[i].resize(bytesOf(i));
      transport.receive(other, 1, in[i].data(), bytesOf(i), [&, i] {
        EXPECT_EQ(in[i], pattern(bytesOf(i), i));
        order.push_back(i);
      });
    }
    for (int i = 0; i < count; ++i)
      transport.send(other, 1, out[i].data(), bytesOf(i), [&] { ++sent; });
    progressUntil(transport,
                  [&] { return sent == count && int(order.size()) == count; });
    std::vector<int> asked(count);
    std::iota(asked.begin(), asked.end(), 0);
    EXPECT_EQ(order, asked);
  });
}

TEST_P(Transports, AnotherSizeIsAnError) {
  for (int64_t sent : {8, 32})
    run(2, [&](Transport &transport) {
      std::byte data[32] = {};
      bool done = false;
      if (transport.process() == 0) {
        transport.send(1, 1, data, sent, [&] { done = true; });
        progressUntil(transport, [&] { return done; });
        return;
      }
      transport.receive(0, 1, data, 16, [&] { done = true; });
      try {
        progressUntil(transport, [&] { return done; });
        ADD_FAILURE() << "no error";
      } catch (const Error &error) {
        EXPECT_NE(std::string(error.what())
                      .find("expected a message of 16 bytes, got "),
                  std::string::npos)
            << error.what();
      }
    });
}

TEST_P(Transports, AWakeEndsASleepAndSleepingTakesNoTime) {
  run(2, [&](Transport &transport) {
    // Connections are made in the background.
    Clock::time_point quiet = Clock::now() + milliseconds(200);
    while (Clock::now() < quiet)
      if (!transport.progress())
        transport.sleep(quiet);

    transport.wake(); // one that came before
    Clock::time_point begin = Clock::now();
    transport.sleep(begin + seconds(20));
    EXPECT_LT(Clock::now() - begin, seconds(5));

    std::thread waker([&] {
      std::this_thread::sleep_for(milliseconds(50));
      transport.wake();
    });
    begin = Clock::now();
    std::clock_t used = std::clock();
    while (Clock::now() - begin < milliseconds(30)) {
      transport.progress();
      transport.sleep(begin + milliseconds(40));
    }
    transport.sleep(begin + seconds(20));
    EXPECT_LT(Clock::now() - begin, seconds(5));
    EXPECT_LT(double(std::clock() - used) / CLOCKS_PER_SEC, 0.02);
    waker.join();
  });
}

TEST_P(Transports, AnOrderlyEndIsNoLoss) {
  run(4, [&](Transport &transport) {
    transport.onLost([](int process, const std::string &why) {
      ADD_FAILURE() << process << ": " << why;
    });
    int value = 1, got[4] = {};
    // What is still awaited when it closes is given up.
    for (int from = 0; from < 4; ++from)
      if (from != transport.process())
        transport.receive(from, 7, &got[from], sizeof(int), [] {});
    int other = transport.process() ^ 1;
    transport.send(other, 1, &value, sizeof(value), [] {});
    bool isThere = false;
    transport.receive(other, 1, &got[other], sizeof(value),
                      [&] { isThere = true; });
    progressUntil(transport, [&] { return isThere; });
    if (transport.process() == 2) // one comes late
      std::this_thread::sleep_for(milliseconds(300));
  });
}

} // namespace

// What UCX tells of processes that are gone.
#include "runtime/comm/UcxTransport.h"
#include "test/runtime/comm/ForkedProcesses.h"
#include "test/runtime/comm/TransportSuite.h"

#include <csignal>

using namespace shardc::runtime;

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

TEST(UcxTransport, AKilledProcessIsLostAndOthersGoOn) {
  auto ends = runForked(3, [&](const ForkedProcess &process) {
    std::unique_ptr<Transport> transport =
        ucxTransport(process.process, process.processes, process.exchange);
    std::vector<int> lost;
    transport->onLost([&](int which, const std::string &why) {
      EXPECT_FALSE(why.empty());
      lost.push_back(which);
    });
    int own = process.process, value = own, got[3] = {};
    int awaited = 4;
    for (int to = 0; to < 3; ++to)
      if (to != own) {
        transport->send(to, 1, &value, sizeof(value), [&] { --awaited; });
        transport->receive(to, 1, &got[to], sizeof(value), [&] { --awaited; });
      }
    progressUntil(*transport, [&] { return awaited == 0; });
    process.exchange("");
    if (own == 1)
      raise(SIGKILL);
    Clock::time_point begin = Clock::now();
    progressUntil(*transport, [&] { return !lost.empty(); });
    EXPECT_LT(Clock::now() - begin, seconds(5));
    EXPECT_EQ(lost, std::vector<int>{1});
    awaited = 2;
    int other = 2 - own;
    transport->send(1, 1, &value, sizeof(value), [&] { ADD_FAILURE(); });
    transport->send(other, 2, &value, sizeof(value), [&] { --awaited; });
    transport->receive(other, 2, &got[other], sizeof(value),
                       [&] { --awaited; });
    progressUntil(*transport, [&] { return awaited == 0; });
    EXPECT_EQ(got[other], other);
  });
  EXPECT_EQ(ends[0].exitCode, 0) << ends[0].text;
  EXPECT_EQ(ends[1].exitCode, 128 + SIGKILL) << ends[1].text;
  EXPECT_EQ(ends[2].exitCode, 0) << ends[2].text;
}

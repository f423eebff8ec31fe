// What runtime-tests run the suites over: threads, processes in memory, and
// UCX between real ones.
#include "runtime/comm/UcxTransport.h"
#include "test/runtime/comm/CommSuite.h"
#include "test/runtime/comm/ForkedProcesses.h"
#include "test/runtime/comm/ShuffledCommunicator.h"
#include "test/runtime/comm/TransportSuite.h"
#include "test/runtime/launch/RanksInProcesses.h"

namespace shardc::runtime {

const std::vector<Implementation> &implementations() {
  static const std::vector<Implementation> all = {
      {"Threads", runRanksAsThreads, true, 16},
      {"Shuffled", runShuffledRanks, false, 6},
      // Ranks of a process, and processes of a node.
      {"One", runRanksInProcesses<1, 1>, false, 6},
      {"OneInNodes", runRanksInProcesses<1, 4>, false, 8},
      {"Two", runRanksInProcesses<2, 1>, false, 8},
      {"TwoInNodes", runRanksInProcesses<2, 2>, false, 16},
      {"Four", runRanksInProcesses<4, 1>, false, 8},
      {"FourInOneNode", runRanksInProcesses<4, 16>, false, 16},
      {"Three", runRanksInProcesses<3, 1>, false, 6}};
  return all;
}

static void runOverUcx(int processes,
                       const std::function<void(Transport &)> &body) {
  auto ends = runForked(processes, [&](const ForkedProcess &process) {
    std::unique_ptr<Transport> transport =
        ucxTransport(process.process, process.processes, process.exchange);
    body(*transport);
    if (!testing::Test::HasFatalFailure())
      transport->close(std::chrono::steady_clock::now() +
                       std::chrono::seconds(20));
  });
  for (const ChildEnd &end : ends)
    EXPECT_EQ(end.exitCode, 0) << end.text;
}

const std::vector<TransportImplementation> &transportImplementations() {
  static const std::vector<TransportImplementation> all = {{"Ucx", runOverUcx}};
  return all;
}

} // namespace shardc::runtime

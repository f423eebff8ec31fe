// The conformance suites of transports and collectives between the processes
// that mpirun started, each of which runs all of the tests at the same time:
// mpi-tests openmpi|mpich [gtest's flags]. Process 0 prints; a process with a
// failure ends all.
#include "runtime/comm/MpiTransport.h"
#include "runtime/launch/ProcessWorld.h"
#include "test/runtime/comm/CommSuite.h"
#include "test/runtime/comm/TransportSuite.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace shardc::runtime;

static std::shared_ptr<MpiLibrary> library;

/// Every process alone, so that all goes over MPI; or as they are.
template <bool areNodesFound>
static void runRanksOverMpi(int ranks,
                            const std::function<void(Communicator &)> &body) {
  int own = library->process(), processes = library->processes();
  TextExchange exchange = [](const std::string &mine) {
    return library->exchange(mine);
  };
  Nodes nodes = areNodesFound ? Nodes::find(own, processes, exchange)
                              : Nodes::apart(processes);
  ProcessWorld({own, processes, ranks / processes, processes},
               mpiTransport(library), std::move(nodes))
      .run(body);
}

const std::vector<Implementation> &shardc::runtime::implementations() {
  int processes = library->processes();
  static const std::vector<Implementation> all = {
      {"Mpi", runRanksOverMpi<false>, false, 16, processes},
      {"MpiInNodes", runRanksOverMpi<true>, false, 8, processes}};
  return all;
}

template <int64_t pieceBytes>
static void runOverMpi(int processes,
                       const std::function<void(Transport &)> &body) {
  if (library->processes() < processes)
    GTEST_SKIP() << "mpirun started " << library->processes()
                 << " processes, and this needs " << processes;
  std::unique_ptr<Transport> transport = mpiTransport(library, pieceBytes);
  if (library->process() < processes)
    body(*transport);
  transport->close(std::chrono::steady_clock::now() + std::chrono::seconds(20));
}

const std::vector<TransportImplementation> &
shardc::runtime::transportImplementations() {
  static const std::vector<TransportImplementation> all = {
      {"Mpi", runOverMpi<1 << 30>}, {"MpiInPieces", runOverMpi<50001>}};
  return all;
}

namespace {

/// The others would wait for this process for ever.
class EndAll : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult &result) override {
    if (!result.failed())
      return;
    fprintf(stderr, "process %d: %s:%d: %s\n", library->process(),
            result.file_name() ? result.file_name() : "", result.line_number(),
            result.message());
    fflush(nullptr);
    _exit(1);
  }
};

} // namespace

int main(int argc, char **argv) {
  bool isMpich = argc > 1 && strcmp(argv[1], "mpich") == 0;
  try {
    library = MpiLibrary::find(
        {isMpich ? MpiLibrary::Kind::Mpich : MpiLibrary::Kind::OpenMpi});
    library->begin();
  } catch (const Error &error) {
    fprintf(stderr, "mpi-tests: error: %s\n", error.what());
    return 2;
  }
  testing::InitGoogleTest(&argc, argv);
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (library->process() != 0)
    delete listeners.Release(listeners.default_result_printer());
  else
    printf("%s, %d processes\n", library->name().c_str(), library->processes());
  listeners.Append(new EndAll);
  int code = RUN_ALL_TESTS();
  library->finish();
  return code;
}

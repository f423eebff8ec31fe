// From what a process was started as to its world.
#include "runtime/launch/Launcher.h"

#include "runtime/base/Printable.h"
#include "runtime/comm/MpiTransport.h"
#include "runtime/comm/UcxTransport.h"
#include "runtime/launch/Affinity.h"
#include "runtime/launch/ChooseTransport.h"
#include "runtime/launch/ProcessWorld.h"
#include "runtime/launch/Rendezvous.h"
#include "runtime/launch/ThreadWorld.h"

#include <algorithm>
#include <cstdio>

namespace shardc::runtime {

/// Leaves the host's other processes their parts of its cores. Returns how many
/// processes share those of this one then.
static int bindToShare(const Rendezvous &rendezvous, int process,
                       const TextExchange &exchange) {
  Cores cores = usableCoreList();
  std::vector<std::string> all = exchange(maskText(cores)), ofHost;
  for (size_t other = 0; other < all.size(); ++other)
    if (rendezvous.hosts()[other] == rendezvous.hosts()[process])
      ofHost.push_back(all[other]);
  int local = rendezvous.localProcess();
  std::vector<int> share = chosenShare(cores, ofHost, local);
  if (!share.empty())
    bindThread(share);
  return sharersOf(cores, ofHost, local);
}

/// What mpirun started knows itself through MPI alone.
static std::shared_ptr<MpiLibrary> mpiOfMpirun() {
  try {
    return MpiLibrary::find(mpiKinds(currentEnvironment()));
  } catch (const MpiMissing &missing) {
    fail("mpirun started this process, and it ", missing.what(),
         "; install it, or name its folder in LD_LIBRARY_PATH");
  }
}

static void beginMpi(MpiLibrary &mpi, const Launch &launch) {
  mpi.begin();
  if (mpi.processes() != launch.processes || mpi.process() != launch.process)
    fail(launchKindName(launch.kind), " started this as process ",
         launch.process, " of ", launch.processes, ", and ", mpi.name(),
         " takes it for process ", mpi.process(), " of ", mpi.processes(),
         "; start it with the launcher of that library");
}

/// Where processes met at a store and MPI is to carry their messages: null where
/// it is not there for all of them, which is said.
static std::shared_ptr<MpiLibrary> mpiForAll(const Launch &launch,
                                             const TextExchange &exchange) {
  std::shared_ptr<MpiLibrary> mpi;
  std::string problem;
  try {
    mpi = MpiLibrary::find(mpiKinds(currentEnvironment()));
  } catch (const Error &error) {
    problem = error.what();
  }
  std::vector<std::string> problems = exchange(problem);
  auto found = std::ranges::find_if(
      problems, [](const std::string &each) { return !each.empty(); });
  if (found == problems.end()) {
    beginMpi(*mpi, launch);
    return mpi;
  }
  if (launch.process == 0)
    std::fprintf(
        stderr,
        "trainer: warning: --transport mpi: process %d %s; UCX carries "
        "the messages\n",
        int(found - problems.begin()), printable(*found).c_str());
  return nullptr;
}

/// Before anybody waits for others in a library that these have not begun.
static void agreeOnTransport(TransportKind own, const TextExchange &exchange) {
  auto nameOf = [](TransportKind kind) {
    return kind == TransportKind::Mpi ? "mpi" : "ucx";
  };
  std::vector<std::string> all = exchange(nameOf(own));
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all[0])
      fail("processes 0 and ", other, " disagree about --transport: ", all[0],
           " and ", all[other], "; start all with the same");
}

std::unique_ptr<World> launchedWorld(int ranks, const Launch &launch,
                                     int startTimeout) {
  if (launch.processes == 1)
    return std::make_unique<ThreadWorld>(ranks);
  if (ranks % launch.processes != 0)
    fail("the mesh has ", ranks, " ranks, which do not fall into the ",
         launch.processes, " processes that ", launchKindName(launch.kind),
         " started; start a number of processes that divides ", ranks);
  std::chrono::seconds timeout(startTimeout);
  Deadline deadline = after(timeout);
  std::shared_ptr<MpiLibrary> mpi;
  TextExchange overMpi;
  if (launch.kind == LaunchKind::Mpi) {
    mpi = mpiOfMpirun();
    beginMpi(*mpi, launch);
    overMpi = [&mpi = *mpi](const std::string &mine) {
      return mpi.exchange(mine);
    };
  }
  auto rendezvous = std::make_shared<Rendezvous>(launch, timeout, overMpi);
  TextExchange exchange = [&, number = 0](const std::string &mine) mutable {
    return rendezvous->exchange(concat("launch/", number++), mine, deadline);
  };
  agreeOnTransport(launch.transport, exchange);
  int sharers = bindToShare(*rendezvous, launch.process, exchange);
  Nodes nodes = Nodes::find(launch.process, launch.processes, exchange,
                            !launch.leavesHostMemory);
  if (launch.transport == TransportKind::Mpi && !mpi)
    mpi = mpiForAll(launch, exchange);
  std::unique_ptr<Transport> transport =
      mpi && launch.transport == TransportKind::Mpi
          ? mpiTransport(mpi)
          : ucxTransport(launch.process, launch.processes, exchange);
  return std::make_unique<ProcessWorld>(
      Placement{launch.process, launch.processes, ranks / launch.processes,
                sharers},
      std::move(transport), std::move(nodes), std::move(rendezvous),
      std::move(mpi));
}

} // namespace shardc::runtime

// From what a process was started as to its world.
#include "runtime/launch/Launcher.h"

#include "runtime/base/Error.h"
#include "runtime/comm/UcxTransport.h"
#include "runtime/launch/Affinity.h"
#include "runtime/launch/ProcessWorld.h"
#include "runtime/launch/Rendezvous.h"
#include "runtime/launch/ThreadWorld.h"

namespace shardc::runtime {

/// Leaves the host's other processes their parts of its cores.
static void bindToShare(const Rendezvous &rendezvous, int process,
                        const TextExchange &exchange) {
  Cores cores = usableCoreList();
  std::vector<std::string> all = exchange(maskText(cores)), ofHost;
  for (size_t other = 0; other < all.size(); ++other)
    if (rendezvous.hosts()[other] == rendezvous.hosts()[process])
      ofHost.push_back(all[other]);
  std::vector<int> share =
      chosenShare(cores, ofHost, rendezvous.localProcess());
  if (!share.empty())
    bindThread(share);
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
  auto rendezvous = std::make_shared<Rendezvous>(launch, timeout);
  TextExchange exchange = [&, number = 0](const std::string &mine) mutable {
    return rendezvous->exchange(concat("launch/", number++), mine, deadline);
  };
  bindToShare(*rendezvous, launch.process, exchange);
  Nodes nodes = Nodes::find(launch.process, launch.processes, exchange,
                            !launch.leavesHostMemory);
  std::unique_ptr<Transport> transport =
      ucxTransport(launch.process, launch.processes, exchange);
  return std::make_unique<ProcessWorld>(
      Placement{launch.process, launch.processes, ranks / launch.processes},
      std::move(transport), std::move(nodes), std::move(rendezvous));
}

} // namespace shardc::runtime

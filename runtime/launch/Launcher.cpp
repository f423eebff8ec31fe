// From what a process was started as to its world.
#include "runtime/launch/Launcher.h"

#include "runtime/base/Error.h"
#include "runtime/comm/UcxTransport.h"
#include "runtime/launch/ProcessWorld.h"
#include "runtime/launch/Rendezvous.h"
#include "runtime/launch/ThreadWorld.h"

namespace shardc::runtime {

std::unique_ptr<World> launchedWorld(int ranks, const LaunchFlags &flags) {
  Launch launch = detectLaunch(flags, currentEnvironment());
  if (launch.processes == 1)
    return std::make_unique<ThreadWorld>(ranks);
  if (ranks % launch.processes != 0)
    fail("the mesh has ", ranks, " ranks, which do not fall into the ",
         launch.processes, " processes that ", launchKindName(launch.kind),
         " starts; start a number of processes that divides ", ranks);
  std::chrono::seconds timeout(flags.startTimeout);
  Deadline deadline = after(timeout);
  auto rendezvous = std::make_shared<Rendezvous>(launch, timeout);
  TextExchange exchange = [&, number = 0](const std::string &mine) mutable {
    return rendezvous->exchange(concat("launch/", number++), mine, deadline);
  };
  Nodes nodes = Nodes::find(launch.process, launch.processes, exchange);
  std::unique_ptr<Transport> transport =
      ucxTransport(launch.process, launch.processes, exchange);
  return std::make_unique<ProcessWorld>(
      Placement{launch.process, launch.processes, ranks / launch.processes},
      std::move(transport), std::move(nodes), std::move(rendezvous));
}

} // namespace shardc::runtime

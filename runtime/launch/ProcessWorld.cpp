// Each of its ranks connects to what the process shares.
#include "runtime/launch/ProcessWorld.h"

#include "runtime/comm/Processes.h"
#include "runtime/launch/Rendezvous.h"

namespace shardc::runtime {

ProcessWorld::ProcessWorld(const Placement &placement,
                           std::unique_ptr<Transport> transport, Nodes nodes,
                           std::shared_ptr<Rendezvous> rendezvous)
    : placement(placement), rendezvous(std::move(rendezvous)),
      process(std::make_shared<ProcessRanks>(
          placement, haveCoresFor(workersPerRank()), std::move(transport),
          std::move(nodes))) {}

ProcessWorld::~ProcessWorld() {
  process.reset(); // says goodbye to the others
  if (!rendezvous)
    return;
  try {
    rendezvous->leave(after(std::chrono::seconds(5)));
  } catch (const std::exception &) {
    // Who is gone needs no store.
  }
}

std::unique_ptr<Communicator> ProcessWorld::connect(int rank) {
  return connectProcess(process, rank);
}

} // namespace shardc::runtime

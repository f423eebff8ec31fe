// Each of its ranks connects to what the process shares.
#include "runtime/launch/ProcessWorld.h"

#include "runtime/comm/Processes.h"

namespace shardc::runtime {

ProcessWorld::ProcessWorld(const Placement &placement,
                           std::unique_ptr<Transport> transport, Nodes nodes)
    : placement(placement), process(std::make_shared<ProcessRanks>(
                                placement, haveCoresFor(workersPerRank()),
                                std::move(transport), std::move(nodes))) {}

std::unique_ptr<Communicator> ProcessWorld::connect(int rank) {
  return connectProcess(process, rank);
}

} // namespace shardc::runtime

// A world whose ranks all are threads of this process.
#include "runtime/launch/ThreadWorld.h"
#include "runtime/comm/ThreadGroup.h"
#include "runtime/comm/Threads.h"

namespace shardc::runtime {

ThreadWorld::ThreadWorld(int ranks)
    : local{0, ranks}, process(std::make_shared<ThreadProcess>(
                           ranks, haveCoresFor(workersPerRank()))) {}

std::unique_ptr<Communicator> ThreadWorld::connect(int rank) {
  return connectThread(process, rank);
}

} // namespace shardc::runtime

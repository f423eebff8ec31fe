// A world whose ranks are threads of one process.
#include "runtime/launch/ThreadWorld.h"
#include "runtime/comm/ThreadGroup.h"
#include "runtime/comm/Threads.h"

#include <utility>

namespace shardc::runtime {

ThreadWorld::ThreadWorld(int ranks)
    : local{0, ranks}, process(std::make_shared<ThreadProcess>(
                           ranks, haveCoresFor(workersPerRank()))) {}
ThreadWorld::ThreadWorld(std::shared_ptr<ThreadProcess> process,
                         RankRange local)
    : local(local), process(std::move(process)) {
  if (local.begin < 0 || local.size() < 1 || local.end > ranks())
    fail("ranks ", local.begin, " to ", local.end - 1, " of a world of ",
         ranks());
}

int ThreadWorld::ranks() const { return process->ranks; }

std::unique_ptr<Communicator> ThreadWorld::connect(int rank) {
  if (!local.contains(rank))
    fail("rank ", rank, " is not one of those here, ", local.begin, " to ",
         local.end - 1);
  return connectThread(process, rank);
}

void runRanksAsThreads(int ranks,
                       const std::function<void(Communicator &)> &body) {
  ThreadWorld(ranks).run(body);
}

} // namespace shardc::runtime

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

std::vector<ProcessNotes> ThreadWorld::notes() const {
  ProcessNotes all;
  for (int rank = 0; rank < local.end; ++rank)
    all.ranks.push_back(process->note(rank).value());
  all.told = std::chrono::steady_clock::now();
  return {all};
}

std::string ThreadWorld::abort(const std::string &text) {
  process->abort(text);
  return text;
}

std::string ThreadWorld::reasonOfAbort() const {
  return process->reasonOfAbort();
}
bool ThreadWorld::hasFailed() const { return process->hasFailed(); }

} // namespace shardc::runtime

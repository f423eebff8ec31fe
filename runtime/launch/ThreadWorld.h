// A world whose ranks are threads of one process.
#ifndef SHARDC_RUNTIME_LAUNCH_THREADWORLD_H
#define SHARDC_RUNTIME_LAUNCH_THREADWORLD_H

#include "runtime/launch/World.h"

namespace shardc::runtime {

class ThreadProcess;

class ThreadWorld final : public World {
public:
  /// All ranks run here.
  explicit ThreadWorld(int ranks);
  /// The ranks `local` run here, of those that meet in `process`
  /// (runtime/comm/ThreadGroup.h); the others in other worlds over it.
  ThreadWorld(std::shared_ptr<ThreadProcess> process, RankRange local);

  int ranks() const override;
  RankRange localRanks() const override { return local; }
  std::unique_ptr<Communicator> connect(int rank) override;

private:
  RankRange local;
  std::shared_ptr<ThreadProcess> process;
};

/// World::run of a ThreadWorld of all ranks.
void runRanksAsThreads(int ranks,
                       const std::function<void(Communicator &)> &body);

} // namespace shardc::runtime

#endif

// A process may have a part of a world's ranks alone. Tests have all parts in
// one process, where threads can be the ranks of each.
#ifndef SHARDC_TEST_RUNTIME_LAUNCH_PARTIALWORLD_H
#define SHARDC_TEST_RUNTIME_LAUNCH_PARTIALWORLD_H

#include "runtime/comm/ThreadGroup.h"
#include "runtime/comm/Threads.h"
#include "runtime/launch/World.h"

#include <memory>
#include <utility>

namespace shardc::runtime {

class PartialWorld final : public World {
public:
  /// The ranks `local` run here, of those that meet in `process`; the others
  /// run in other worlds over it.
  PartialWorld(std::shared_ptr<ThreadProcess> process, RankRange local)
      : process(std::move(process)), local(local) {}

  int ranks() const override { return process->ranks; }
  RankRange localRanks() const override { return local; }
  /// Worlds of one process read each other's memory.
  int ranksPerProcess() const override { return process->ranks; }
  std::unique_ptr<Communicator> connect(int rank) override {
    return connectThread(process, rank);
  }

private:
  std::shared_ptr<ThreadProcess> process;
  RankRange local;
};

} // namespace shardc::runtime

#endif

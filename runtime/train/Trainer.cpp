// All ranks of this process, each in its loop.
#include "runtime/train/Trainer.h"

#include "runtime/train/NamingRank.h"
#include "runtime/train/RankLoop.h"

namespace shardc::runtime {

Stop train(Run &run) {
  Stop stop; // of all ranks alike
  RankRange here = run.world.localRanks();
  ReadAhead ahead(run.plan, run.data, run.settings, run.options.order, here);
  run.world.run([&](Communicator &communicator) {
    namingRank(communicator, [&] {
      RankLoop loop(run, ahead, communicator);
      Stop own = World::abortingFirst(communicator, [&] { return loop(); });
      communicator.note().enter(RankPhase::Ended, 0);
      if (communicator.rank() == here.begin)
        stop = own;
    });
  });
  return stop;
}

} // namespace shardc::runtime

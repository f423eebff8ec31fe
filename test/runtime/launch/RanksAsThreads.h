// Tests run a body as every rank of a world, and need no more of it.
#ifndef SHARDC_TEST_RUNTIME_LAUNCH_RANKSASTHREADS_H
#define SHARDC_TEST_RUNTIME_LAUNCH_RANKSASTHREADS_H

#include "runtime/launch/ThreadWorld.h"

namespace shardc::runtime {

inline void runRanksAsThreads(int ranks,
                              const std::function<void(Communicator &)> &body) {
  ThreadWorld(ranks).run(body);
}

} // namespace shardc::runtime

#endif

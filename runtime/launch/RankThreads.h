// Ranks as threads of this process: what happens when no launcher has started
// one process per rank.
#ifndef SHARDC_RUNTIME_LAUNCH_RANKTHREADS_H
#define SHARDC_RUNTIME_LAUNCH_RANKTHREADS_H

#include "runtime/comm/Communicator.h"

#include <functional>

namespace shardc::runtime {

/// Runs `body` as every rank of a mesh, each on a thread of its own. When a
/// body throws, the others are released from their waits, and the Error that
/// came first is thrown here once all have ended.
void runRanksAsThreads(int ranks,
                       const std::function<void(Communicator &)> &body);

/// Threads that each of `ranks` ranks on this machine should have: max(1, cores
/// / ranks).
int workersPerRank(int ranks);
/// Whether every thread of `ranks` ranks with `workers` threads each has a core
/// of its own.
bool haveCoresFor(int ranks, int workers);

} // namespace shardc::runtime

#endif

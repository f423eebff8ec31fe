// Collectives between ranks that are threads of one process: they read each
// other's buffers directly.
#ifndef SHARDC_RUNTIME_COMM_THREADS_H
#define SHARDC_RUNTIME_COMM_THREADS_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/RankNote.h"

#include <memory>

namespace shardc::runtime {

class ThreadGroup;
class ThreadPool;
class ThreadProcess;

/// Of a rank in all its groups; written by its thread alone.
struct alignas(64) RankSide {
  RankNote &note;
  int64_t unfinished = 0; // collectives
  ThreadPool *helpers = nullptr;
};

/// A rank's end of the world whose ranks meet in `process` (ThreadGroup.h).
/// Each of its ranks connects once.
std::unique_ptr<Communicator>
connectThread(std::shared_ptr<ThreadProcess> process, int rank);

/// A rank's end of a group that is all in this process. Both arguments must
/// outlive it.
std::unique_ptr<Communicator> memberOfThreads(ThreadGroup &group, int member,
                                              RankSide &side);

} // namespace shardc::runtime

#endif

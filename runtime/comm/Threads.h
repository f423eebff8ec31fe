// Collectives between ranks that are threads of one process: they read each
// other's buffers directly.
#ifndef SHARDC_RUNTIME_COMM_THREADS_H
#define SHARDC_RUNTIME_COMM_THREADS_H

#include "runtime/comm/Communicator.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

class ThreadProcess;

/// The ranks of one process. The world outlives all use of its communicators.
class ThreadWorld {
public:
  /// `spin` says that every rank's thread has a core of its own.
  ThreadWorld(int ranks, bool spin);
  ~ThreadWorld();

  Communicator &communicator(int rank);

private:
  class End;
  /// What a rank has in all its groups together; its thread alone writes it.
  struct alignas(64) RankSide {
    int64_t unfinished = 0; // collectives
    ThreadPool *helpers = nullptr;
  };
  std::unique_ptr<ThreadProcess> process;
  std::vector<RankSide> sides; // by rank
  std::vector<std::unique_ptr<End>> ends;
};

} // namespace shardc::runtime

#endif

// Tests run a body as every rank of a world whose processes are parts of the
// test's, over a transport in memory.
#ifndef SHARDC_TEST_RUNTIME_LAUNCH_RANKSINPROCESSES_H
#define SHARDC_TEST_RUNTIME_LAUNCH_RANKSINPROCESSES_H

#include "runtime/launch/ProcessWorld.h"
#include "test/runtime/comm/MemoryTransport.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include <mutex>
#include <numeric>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

/// `processesPerNode`: processes that read each other's memory.
inline Nodes nodesOf(int processes, int processesPerNode) {
  Nodes nodes;
  for (int process = 0; process < processes; ++process) {
    nodes.of.push_back(process / processesPerNode);
    nodes.pids.push_back(getpid());
  }
  return nodes;
}

/// Throws what the first process threw whose ranks did not give up because of
/// others.
inline void
runRanksInProcesses(int ranks, int ranksPerProcess, int processesPerNode,
                    const std::function<void(Communicator &)> &body) {
  int here = std::gcd(ranks, ranksPerProcess), processes = ranks / here;
  if (processes == 1)
    return runRanksAsThreads(ranks, body);
  std::vector<std::unique_ptr<Transport>> ends = memoryTransports(processes);
  std::mutex mutex;
  std::exception_ptr cause, any;
  std::vector<std::thread> threads;
  for (int process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      try {
        ProcessWorld({process, processes, here, processes},
                     std::move(ends[process]),
                     nodesOf(processes, processesPerNode))
            .run(body);
      } catch (const Aborted &) {
        std::lock_guard lock(mutex);
        any = std::current_exception();
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!cause)
          cause = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  if (cause || any)
    std::rethrow_exception(cause ? cause : any);
}

/// The same as a function of its own.
template <int ranksPerProcess, int processesPerNode>
void runRanksInProcesses(int ranks,
                         const std::function<void(Communicator &)> &body) {
  runRanksInProcesses(ranks, ranksPerProcess, processesPerNode, body);
}

} // namespace shardc::runtime

#endif

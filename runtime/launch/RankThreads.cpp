// One thread per rank, and the first error of any.
#include "runtime/launch/RankThreads.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/comm/Threads.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace shardc::runtime {

int workersPerRank(int ranks) {
  return std::max(1, usableCores() / std::max(1, ranks));
}
bool haveCoresFor(int ranks, int workers) {
  return int64_t(ranks) * workers <= usableCores();
}

void runRanksAsThreads(int ranks,
                       const std::function<void(Communicator &)> &body) {
  ThreadWorld world(ranks, haveCoresFor(ranks, workersPerRank(ranks)));
  std::mutex mutex;
  std::exception_ptr first;
  // What a rank throws because another gave up says less than that rank's own
  // error.
  bool firstIsCause = false;
  auto keep = [&](bool isCause) {
    std::lock_guard lock(mutex);
    if (!first || (isCause && !firstIsCause)) {
      first = std::current_exception();
      firstIsCause = isCause;
    }
  };
  auto run = [&](int rank) {
    Communicator &communicator = world.communicator(rank);
    try {
      body(communicator);
    } catch (const Aborted &) {
      keep(false);
    } catch (const std::exception &error) {
      keep(true);
      communicator.abort(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    try {
      threads.emplace_back(run, rank);
    } catch (const std::system_error &error) {
      // Those that run wait for this one.
      keep(true);
      world.communicator(rank).abort(error.what());
      break;
    }
  for (std::thread &thread : threads)
    thread.join();
  if (first)
    std::rethrow_exception(first);
}

} // namespace shardc::runtime

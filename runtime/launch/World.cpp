// One thread per local rank, and the first error of any.
#include "runtime/launch/World.h"
#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace shardc::runtime {

int World::workersPerRank() const {
  return std::max(1,
                  usableCores() / std::max(1, localRanks().size() * sharers()));
}
bool World::haveCoresFor(int workers) const {
  return int64_t(localRanks().size()) * sharers() * workers <= usableCores();
}

void World::run(const std::function<void(Communicator &)> &body) {
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
    std::unique_ptr<Communicator> communicator;
    try {
      communicator = connect(rank);
      body(*communicator);
    } catch (const Aborted &) {
      keep(false);
    } catch (const std::exception &error) {
      keep(true);
      if (communicator)
        communicator->abort(error.what());
    }
  };
  std::vector<std::thread> threads;
  RankRange local = localRanks();
  for (int rank = local.begin; rank < local.end; ++rank)
    try {
      threads.emplace_back(run, rank);
    } catch (const std::system_error &error) {
      // Those that run wait for this one.
      keep(true);
      connect(rank)->abort(error.what());
      break;
    }
  for (std::thread &thread : threads)
    thread.join();
  if (first)
    std::rethrow_exception(first);
}

} // namespace shardc::runtime

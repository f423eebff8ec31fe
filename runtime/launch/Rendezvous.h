// Where the processes of a run meet: from a Launch to a store that all of them
// have, or to MPI, and texts that they tell each other through it.
#ifndef SHARDC_RUNTIME_LAUNCH_RENDEZVOUS_H
#define SHARDC_RUNTIME_LAUNCH_RENDEZVOUS_H

#include "runtime/comm/Transport.h"
#include "runtime/launch/Launch.h"
#include "runtime/store/TcpStoreServer.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Every process gives a text, and gets those of all, by process: through a
/// store, under a key that is used once. A StoreTimeout at
/// the deadline lists who has not come: `names` has what processes are called
/// beside their number (their hosts), where that is known, or nothing.
std::vector<std::string> exchange(Store &store, const std::string &key,
                                  const std::string &mine, int process,
                                  int processes, Deadline deadline,
                                  const std::vector<std::string> &names = {});

class Rendezvous {
public:
  /// Serves the store, where that is this process's part, and connects to it.
  /// Returns when all processes have come; throws a StoreTimeout that lists
  /// those that have not within `timeout`. For one process there is no store.
  /// Nor is there for mpirun's, which meet through `overMpi`: it waits as long
  /// as mpirun does.
  Rendezvous(const Launch &launch, std::chrono::milliseconds timeout,
             TextExchange overMpi = {});

  /// Null where there is none.
  Store *store() const { return client.get(); }
  /// Whether this process is the one that others' words go to.
  bool servesStore() const { return server != nullptr; }
  /// The host of each process.
  const std::vector<std::string> &hosts() const { return hostNames; }
  /// Which of the processes of its host this one is, and how many those are,
  /// whatever the launcher said.
  int localProcess() const { return localIndex; }
  int localProcesses() const { return localCount; }
  /// An exchange() of all processes; `key` is used once.
  std::vector<std::string> exchange(const std::string &key,
                                    const std::string &mine,
                                    Deadline deadline) const;
  /// Called by all of them as the last thing: process 0, which may serve the
  /// store, waits until the others need it no more, or the deadline. After a
  /// failure (not `inOrder`), where some never leave, it waits only where it
  /// does serve the store.
  void leave(Deadline deadline, bool inOrder = true);

private:
  void serve(const Launch &launch);
  void meetAtStore(const Launch &launch, Deadline deadline);

  int process, processes;
  TextExchange overMpi;
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<TcpStoreClient> client;
  std::vector<std::string> hostNames;
  int localIndex = 0, localCount = 1;
};

} // namespace shardc::runtime

#endif

// Where the processes of a run meet.
#include "runtime/launch/Rendezvous.h"

#include "runtime/base/HostName.h"
#include "runtime/base/Text.h"
#include "runtime/store/Connection.h"

#include <algorithm>
#include <memory>

namespace shardc::runtime {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// "1, 3 (on node2), 5 and 12 more"
static std::string listText(const std::vector<int> &processes,
                            const std::vector<std::string> &names) {
  constexpr size_t most = 16;
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), most); ++i) {
    auto process = static_cast<size_t>(processes[i]);
    text += concat(i ? ", " : "", process);
    if (process < names.size() && !names[process].empty())
      text += " (on " + names[process] + ")";
  }
  if (processes.size() > most)
    text += concat(" and ", processes.size() - most, " more");
  return text;
}

static std::string keyOf(const std::string &key, int process) {
  return concat(key, "/", process);
}

/// Why an exchange has not ended. The store gets a little time more to say who
/// has come.
static std::string whoIsMissing(Store &store, const std::string &key,
                                int processes,
                                const std::vector<std::string> &names) {
  std::vector<int> came, missing;
  Deadline deadline = after(seconds(5));
  for (int each = 0; each < processes; ++each)
    (store.has(keyOf(key, each), deadline) ? came : missing).push_back(each);
  if (missing.empty())
    return concat("all ", processes, " processes have come, and the store at ",
                  store.name(), " was too slow to say so");
  return concat(missing.size() == 1 ? "process " : "processes ",
                listText(missing, names), " of ", processes,
                missing.size() == 1 ? " has not come" : " have not come",
                "; here: ", listText(came, names));
}

std::vector<std::string> exchange(Store &store, const std::string &key,
                                  const std::string &mine, int process,
                                  int processes, Deadline deadline,
                                  const std::vector<std::string> &names) {
  Clock::time_point begin = Clock::now();
  std::vector<std::string> keys;
  for (int each = 0; each < processes; ++each)
    keys.push_back(keyOf(key, each));
  try {
    store.set(keys[static_cast<size_t>(process)], mine, deadline);
    store.wait(keys, deadline);
    std::vector<std::string> texts;
    for (const std::string &each : keys)
      texts.push_back(store.get(each, deadline));
    return texts;
  } catch (const StoreLost &lost) {
    // Who serves it is one of them, but for launchers, which outlive them.
    throw StoreLost(concat("process 0",
                           names.empty() ? "" : concat(" (on ", names[0], ")"),
                           " or its launcher is gone: ", lost.what()));
  } catch (const StoreTimeout &) {
    std::chrono::duration<double> waited = Clock::now() - begin;
    // Who has come said its host, where the exchange is that of hosts.
    std::vector<std::string> said = names;
    if (said.empty() && key == "host")
      for (const std::string &each : keys)
        said.push_back(store.has(each, after(seconds(5)))
                           ? store.get(each, after(seconds(5)))
                           : "");
    throw StoreTimeout(concat("within ", format("%.3g s", waited.count()), ", ",
                              whoIsMissing(store, key, processes, said)));
  }
}

void Rendezvous::serve(const Launch &launch) {
  for (int i = 0;; ++i)
    try {
      server = std::make_unique<TcpStoreServer>(
          static_cast<uint16_t>(launch.store.port + i), launch.job);
      return;
    } catch (const PortTaken &taken) {
      if (i + 1 >= launch.store.ports)
        fail("cannot serve the store of this run: ",
             launch.store.ports > 1
                 ? concat("ports ", launch.store.port, " to ",
                          launch.store.port + i,
                          " of this host are taken by other processes")
                 : std::string(taken.what()));
    }
}

void Rendezvous::meetAtStore(const Launch &launch, Deadline deadline) {
  if (process == 0 && !launch.storeIsServed)
    serve(launch);
  // Process 0 need not know its own host's name.
  StoreAddress at = launch.store;
  if (server)
    at = {"127.0.0.1", server->port(), 1};
  try {
    client = std::make_unique<TcpStoreClient>(std::vector{at}, launch.job,
                                              launch.prefix, deadline);
  } catch (const StoreTimeout &timeout) {
    throw StoreTimeout(
        concat(launch.storeIsServed ? launchKindName(launch.kind) : "process 0",
               " serves no store: ", timeout.what()));
  }
}

Rendezvous::Rendezvous(const Launch &launch, milliseconds timeout,
                       TextExchange givenOverMpi)
    : process(launch.process), processes(launch.processes),
      hostNames({hostName()}) {
  if (processes == 1)
    return;
  Deadline deadline = after(timeout);
  if (launch.kind == LaunchKind::Mpi) {
    overMpi = std::move(givenOverMpi);
    hostNames = overMpi(hostName());
  } else {
    meetAtStore(launch, deadline);
    hostNames = runtime::exchange(*client, "host", hostName(), process,
                                  processes, deadline);
  }
  auto own = static_cast<size_t>(process);
  auto isHere = [&](const std::string &host) { return host == hostNames[own]; };
  auto self = hostNames.begin() + process;
  localIndex = static_cast<int>(std::count_if(hostNames.begin(), self, isHere));
  localCount = static_cast<int>(
      std::count_if(hostNames.begin(), hostNames.end(), isHere));
}

std::vector<std::string> Rendezvous::exchange(const std::string &key,
                                              const std::string &mine,
                                              Deadline deadline) const {
  if (overMpi)
    return overMpi(mine);
  if (!client)
    return {mine};
  return runtime::exchange(*client, key, mine, process, processes, deadline,
                           hostNames);
}

void Rendezvous::leave(Deadline deadline, bool inOrder) {
  if (!client)
    return;
  try {
    client->set(keyOf("left", process), "", deadline);
    // Whether this process serves the store or the one that has started it.
    if (process == 0 && (inOrder || server))
      for (int each = 1; each < processes; ++each)
        client->wait({keyOf("left", each)}, deadline);
  } catch (const Error &) {
    // The run is over; who is gone has no use for the store.
  }
}

} // namespace shardc::runtime

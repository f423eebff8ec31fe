// What this process was started as: alone, or which one of several, by which
// launcher, and where they meet. Read from flags and the environment alone.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCH_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCH_H

#include "runtime/store/TcpStoreClient.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

using Environment = std::map<std::string, std::string, std::less<>>;
/// That of this process.
Environment currentEnvironment();

enum class LaunchKind {
  Alone,
  Hand,     // a process per node, each told its place
  Spawned,  // by a process of this program (Supervisor.h)
  Torchrun, // or what sets RANK and WORLD_SIZE as it does
  Slurm,    // srun
  Mpi,      // mpirun, mpiexec
};
const char *launchKindName(LaunchKind kind);

/// What carries messages between processes (comm/Transport.h).
enum class TransportKind { Ucx, Mpi };

/// What the flags say; none of them: what the environment says.
struct LaunchFlags {
  enum class Launcher { Auto, None, Hand, Torchrun, Slurm, Mpi };
  Launcher launcher = Launcher::Auto;
  std::optional<int> nodes, nodeRank, processesPerNode;
  std::optional<std::string> master;
  int startTimeout = 300;        // seconds
  int timeout = 30;              // seconds
  bool leavesHostMemory = false; // --no-host-memory
  int maxRestarts = 0;
  std::optional<TransportKind> transport;

  /// Whether one of those is given that say this process's place.
  bool byHand() const { return nodes || nodeRank || processesPerNode; }
};

struct Launch {
  LaunchKind kind = LaunchKind::Alone;
  int process = 0, processes = 1;
  /// Among those of this host.
  int localProcess = 0, localProcesses = 1;
  /// This process is none of them, but starts so many here; 0: it is one.
  int spawns = 0;
  int nodes = 1, node = 0; // where it spawns
  /// Nobody has said how many processes this node is to have: one, but where
  /// devices want one each.
  bool isOpen = false;
  int maxRestarts = 0;
  /// Whether the host's other processes are to leave this one's memory alone.
  bool leavesHostMemory = false;

  /// Where the store is. Empty for MPI, which tells it, and for one process.
  StoreAddress store;
  /// Whether the launcher serves it, and else process 0.
  bool storeIsServed = false;
  /// What tells this run's store from that of another.
  std::string job;
  /// Stands before all keys, where a store outlives a run.
  std::string prefix;
  int restarts = 0; // the launcher has started the run again so many times
  /// What tells this run from others, the same in each of its restarts. Empty:
  /// nothing does.
  std::string run;
  TransportKind transport = TransportKind::Ucx;

  /// Makes this process one that starts `perNode` here, and others as many on
  /// each of the other nodes.
  void startHere(int perNode);
  /// "torchrun, process 1 of 4"
  std::string text() const;
};

/// What spawned processes have in their environment. A process that has it
/// spawns none.
Environment spawnedEnvironment(const Launch &supervisor, int localProcess,
                               const StoreAddress &store, int restarts);

/// Throws an Error of one line, with both values, where settings contradict
/// each other, and where this is one of several and its place is unknown.
Launch detectLaunch(const LaunchFlags &flags, const Environment &environment);

} // namespace shardc::runtime

#endif

// The world that a process's ranks belong to: how many ranks there are, which
// of them run here, and how each comes to its communicator.
//
// One rank writes: what a run exports, records and prints goes through rank 0,
// wherever that is. A process without it opens no output.
#ifndef SHARDC_RUNTIME_LAUNCH_WORLD_H
#define SHARDC_RUNTIME_LAUNCH_WORLD_H

#include "runtime/comm/Communicator.h"

#include <functional>
#include <memory>

namespace shardc::runtime {

/// Ranks in a row: [begin, end).
struct RankRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool contains(int rank) const { return rank >= begin && rank < end; }
};

class World {
public:
  /// The rank that writes outputs.
  static constexpr int leader = 0;

  virtual ~World() = default;
  /// Of all processes.
  virtual int ranks() const = 0;
  /// Those that run in this process: one at least.
  virtual RankRange localRanks() const = 0;
  /// A local rank's end of a group of all ranks. Called once for each, on the
  /// thread that will use it; may wait for ranks of other processes. Throws an
  /// Error where they cannot be reached.
  virtual std::unique_ptr<Communicator> connect(int rank) = 0;

  /// Whether this process has the leader.
  bool leads() const { return localRanks().contains(leader); }

  /// Threads that each local rank should have: max(1, this machine's cores /
  /// local ranks).
  int workersPerRank() const;
  /// Whether every thread of the local ranks, of `workers` each, has a core of
  /// its own.
  bool haveCoresFor(int workers) const;

  /// Connects every local rank and runs `body` as it, each on a thread of its
  /// own; once in a world's life. When a body throws, all ranks are released
  /// from their waits, and the Error that came first here is thrown once all
  /// local ranks have ended; an Aborted, where it came from elsewhere.
  void run(const std::function<void(Communicator &)> &body);
};

/// Makes the world of a run of `ranks` ranks.
using WorldFactory = std::function<std::unique_ptr<World>(int ranks)>;

} // namespace shardc::runtime

#endif

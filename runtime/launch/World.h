// The world that a process's ranks belong to: how many ranks there are, which
// of them run here, and how each comes to its communicator.
//
// One rank writes: what a run exports, records and prints goes through rank 0,
// wherever that is. A process without it opens no output.
#ifndef SHARDC_RUNTIME_LAUNCH_WORLD_H
#define SHARDC_RUNTIME_LAUNCH_WORLD_H

#include "runtime/base/Traffic.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/RankNote.h"
#include "runtime/launch/Launch.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Ranks in a row: [begin, end).
struct RankRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool contains(int rank) const { return rank >= begin && rank < end; }
};

/// What all processes of a run must have alike: what it is called, and a value.
using Facts = std::vector<std::pair<std::string, std::string>>;

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

  /// Throws the same Error in all processes where these have other facts: the
  /// first, with both values and where they are. All processes call it alike.
  virtual void agree(const Facts &facts) {}
  /// Tells other processes that this one ends without them, and why. From then
  /// on they do not wait for it.
  virtual void giveUp(const std::string &reason) {}
  /// From now on processes tell each other where their ranks are, so often. All
  /// call it alike. `place`: for those of a process that is gone.
  virtual void watch(std::chrono::milliseconds interval, PlaceText place) {}
  /// What they have told, by process; of other processes only after watch().
  virtual std::vector<ProcessNotes> notes() const { return {}; }
  /// Whether another process has been stopped by a signal, as far as that can be
  /// seen from here: on this host.
  virtual bool isStopped(int process) const { return false; }
  /// Releases all ranks of all processes from their waits: these throw an
  /// Aborted of this text, or of that of the process which was first with it.
  /// From any thread. Returns that text.
  virtual std::string abort(const std::string &text) { return text; }
  /// Why they have been released; empty: they have not.
  virtual std::string reasonOfAbort() const { return ""; }
  /// Whether it was a rank of this process.
  virtual bool hasFailed() const { return false; }
  /// Names of the hosts, by process; processes of one host have the same.
  virtual std::vector<std::string> hosts() const { return {""}; }
  /// Ranks whose memory is one: those of a process.
  virtual int ranksPerProcess() const { return localRanks().size(); }
  /// What has gone between this process and others so far.
  virtual Traffic traffic() const { return {}; }
  /// What of the world stands in a run's first lines; empty: one process.
  virtual std::string text() const { return ""; }

  /// Whether this process has the leader.
  bool leads() const { return localRanks().contains(leader); }

  /// Processes that compute with the processors of this one, it included.
  virtual int sharers() const { return 1; }
  /// Threads that each local rank should have: max(1, this process's cores /
  /// local ranks of all that share them).
  int workersPerRank() const;
  /// Whether every thread of the local ranks, of `workers` each, has a core of
  /// its own, also beside the processes that share them.
  bool haveCoresFor(int workers) const;

  /// Returns body(). What it throws the other ranks are told at once: before
  /// what the caller has is gone, which they would take for the reason.
  template <typename Body>
  static auto abortingFirst(Communicator &communicator, const Body &body) {
    try {
      return body();
    } catch (const Aborted &) {
      throw;
    } catch (const std::exception &error) {
      communicator.abort(error.what());
      throw;
    }
  }

  /// Connects every local rank and runs `body` as it, each on a thread of its
  /// own; once in a world's life. When a body throws, all ranks are released
  /// from their waits, and the Error that came first here is thrown once all
  /// local ranks have ended; an Aborted, where it came from elsewhere.
  void run(const std::function<void(Communicator &)> &body);
};

/// Makes the world of a run of `ranks` ranks for a process that was started as
/// `launch` says. `startTimeout`: seconds that processes wait for each other.
using WorldFactory = std::function<std::unique_ptr<World>(
    int ranks, const Launch &launch, int startTimeout)>;

} // namespace shardc::runtime

#endif

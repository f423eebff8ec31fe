// Ends a run that stands still, and says who made it: --timeout.
#ifndef SHARDC_RUNTIME_TRAIN_WATCHDOG_H
#define SHARDC_RUNTIME_TRAIN_WATCHDOG_H

#include "runtime/launch/World.h"
#include "runtime/plan.pb.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shardc::runtime {

/// How long ranks may stand still.
struct StillLimits {
  std::chrono::milliseconds inStep, outside;
  /// And the process of one that others wait for may be stopped by a signal,
  /// wherever it is.
  std::chrono::milliseconds stopped = std::chrono::seconds(4);
  /// How long ranks of this process may take to end once the run has failed.
  std::chrono::milliseconds ending = std::chrono::seconds(4);

  std::chrono::milliseconds of(RankPhase phase) const {
    return phase == RankPhase::Step || phase == RankPhase::Samples ? inStep
                                                                   : outside;
  }
};

/// Looks at the notes of all ranks, again and again.
class StillRanks {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// `isStopped`: whether another process is, as far as that can be seen.
  StillRanks(int process, StillLimits limits,
             std::function<bool(int process)> isStopped)
      : process(process), limits(limits), isStopped(std::move(isStopped)) {}

  /// A run that stands still, and the rank that made it.
  struct Found {
    int process = 0, rank = 0; // in the process
    enum class Why {
      Stopped, // the process is, by a signal
      Silent,  // it has told nothing for as long
      Stuck,   // the rank waits for nobody, and does not go on
      Behind,  // all wait, and none is further back
    } why = Why::Silent;
    std::chrono::milliseconds still;
    RankNoteValue at;
    /// One that waits for it.
    int waitingRank = 0;
  };
  /// Where a rank of this process waits for longer than its limit, and no rank
  /// of any process goes on.
  std::optional<Found> look(const std::vector<ProcessNotes> &notes, Time now);
  /// Everything counts as if it had just moved: nobody looked for a while.
  void forget() { seen.clear(); }

private:
  struct Seen {
    RankNoteValue value;
    Time since;
  };
  struct Process {
    uint64_t moves = 0;
    Time since{};
    std::vector<Seen> ranks;
  };
  void take(const std::vector<ProcessNotes> &notes, Time now);
  /// A rank of this process that has waited for so long, and for how long.
  std::optional<Found>
  waitingFor(const std::function<std::chrono::milliseconds(RankPhase)> &limit,
             Time now) const;
  std::optional<Found> lookForStopped(const std::vector<ProcessNotes> &notes,
                                      Time now) const;
  std::chrono::milliseconds timeSince(Time then, Time now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        now - std::max(then, begun));
  }

  int process;
  StillLimits limits;
  std::function<bool(int process)> isStopped;
  std::vector<Process> seen;
  Time begun{};
};

class Watchdog {
public:
  /// Ends the process with an error, and this exit code.
  using AtOnce = std::function<void(const std::string &error, int code)>;
  /// Watches until its end, on a thread of its own. `atOnce`: where ranks of this
  /// process do not end by themselves once the run has failed, here or
  /// elsewhere.
  Watchdog(World &world, const plan::Plan &plan, StillLimits limits,
           AtOnce atOnce);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  void run();
  std::string describe(const StillRanks::Found &found) const;
  int firstRankOf(int process) const;
  std::string nameOf(int process, int rank) const;
  /// Whether the end was asked for within that time.
  bool endsWithin(std::chrono::milliseconds time);

  World &world;
  const plan::Plan &plan;
  StillLimits limits;
  std::chrono::milliseconds interval;
  AtOnce atOnce;
  std::mutex mutex;
  std::condition_variable end;
  bool ends = false;
  std::thread thread;
};

/// Where a rank is, for people: "step 3 (counting from 0), plan entry NAME
/// (train, forward), ONNX nodes A, B".
std::string placeText(const plan::Plan &plan, const RankNoteValue &at);

} // namespace shardc::runtime

#endif

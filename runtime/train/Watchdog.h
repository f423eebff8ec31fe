// Ends a run that stands still, and says who made it: --timeout.
#ifndef SHARDC_RUNTIME_TRAIN_WATCHDOG_H
#define SHARDC_RUNTIME_TRAIN_WATCHDOG_H

#include "runtime/launch/World.h"
#include "runtime/plan.pb.h"

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

  std::chrono::milliseconds of(RankPhase phase) const {
    return phase == RankPhase::Step || phase == RankPhase::Samples ? inStep
                                                                   : outside;
  }
};

/// Looks at the notes of all ranks, again and again.
class StillRanks {
public:
  using Time = std::chrono::steady_clock::time_point;

  StillRanks(int process, StillLimits limits)
      : process(process), limits(limits) {}

  /// A run that stands still, and the rank that made it.
  struct Found {
    int process = 0, rank = 0; // in the process
    enum class Why {
      Silent, // the process has told nothing for as long
      Stuck,  // the rank waits for nobody, and does not go on
      Behind, // all wait, and none is further back
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

  int process;
  StillLimits limits;
  std::vector<Process> seen;
  Time begun{};
};

class Watchdog {
public:
  /// Watches until its end, on a thread of its own. `atOnce`: ends the process
  /// with this error, where ranks of it do not end by themselves.
  Watchdog(World &world, const plan::Plan &plan, StillLimits limits,
           std::function<void(const std::string &)> atOnce);
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
  std::function<void(const std::string &)> atOnce;
  std::mutex mutex;
  std::condition_variable end;
  bool ends = false;
  std::thread thread;
};

/// "ONNX nodes A, B"; empty where an entry comes from none.
std::string nodesText(const plan::Entry &entry);
/// Where a rank is, for people: "step 3 (counting from 0), plan entry NAME
/// (train, forward), ONNX nodes A, B".
std::string placeText(const plan::Plan &plan, const RankNoteValue &at);

} // namespace shardc::runtime

#endif

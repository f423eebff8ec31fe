// Where gathers begin and reductions are waited for, by simulation and under a
// limit of memory. It knows no IR; ProgramMoves.h has what a plan is to it.
#ifndef SHARDC_CODEGEN_SCHEDULE_LISTSCHEDULE_H
#define SHARDC_CODEGEN_SCHEDULE_LISTSCHEDULE_H

#include "codegen/step/MemoryPlanner.h"
#include "codegen/timeline/Timeline.h"

#include <limits>
#include <optional>
#include <vector>

namespace shardc::schedule {

/// Places are numbers of steps: a place p lies before step p.

/// A gather of a unit. Its start may be put at any place from `earliest` to
/// `wait`, which is the number of its wait among the steps.
struct Gather {
  size_t collective = 0;
  size_t earliest = 0, wait = 0;
  size_t last = 0; // step that reads what was gathered
  int64_t bytes = 0;
  bool stays = false; // its bytes are there in all of the program
  /// An earlier gather of the same bytes: where that is held on to, this one
  /// is not needed.
  std::optional<size_t> before;
};

/// A reduction whose wait may be put at any place from `earliest` to `latest`.
struct Reduction {
  size_t collective = 0;
  size_t earliest = 0, latest = 0;
  std::vector<size_t> buffers; // that are alive until then
  /// A collective that goes on with its result, over another dimension of the
  /// mesh: it is started behind the wait, in whatever place that is.
  std::optional<size_t> next;
  /// The reduction whose `next` it is: its own wait stands behind that one's.
  std::optional<size_t> before;
};

struct Schedule;

struct Problem {
  /// Without the starts of `gathers`, the waits of `reductions`, and what is
  /// started behind these.
  std::vector<timeline::Step> steps;
  std::vector<timeline::Collective> collectives;
  double slowdown = 0;         // of compute beside these
  std::vector<Gather> gathers; // in the order of their waits
  std::vector<Reduction> reductions;
  /// What gathered parameters share no memory with, in numbers of steps.
  std::vector<step::Lifetime> buffers;
  /// Bytes that gathers and buffers may take together, and gathers alone.
  int64_t limit = std::numeric_limits<int64_t>::max();
  int64_t gatherLimit = std::numeric_limits<int64_t>::max();

  bool allows(const Schedule &schedule) const;
  /// Whether `a` is the better schedule: within the limits, then the shorter
  /// step, and of those within 0.02 % of each other what takes less memory.
  bool prefers(const Schedule &a, const Schedule &b) const;
};

struct Schedule {
  std::vector<size_t> starts; // places of gathers
  std::vector<bool> held;     // gathers that are not needed
  std::vector<size_t> waits;  // places of reductions
  double seconds = 0;
  int64_t gatherBytes = 0, bufferBytes = 0; // most that is alive at once

  int64_t bytes() const { return gatherBytes + bufferBytes; }
};

/// The steps of a problem with what a schedule puts between them. At one place
/// starts come before waits. `firstAt`, where given, gets the number of the
/// first step at each place.
std::vector<timeline::Step> arrange(const Problem &problem,
                                    const Schedule &schedule,
                                    std::vector<size_t> *firstAt = nullptr);

/// Gathers that begin `depth` places of gathers ahead of their own, and are not
/// held; reductions that are waited for at the earliest place.
Schedule ahead(const Problem &problem, size_t depth);

/// Bytes of the pools that the schedule's buffers are placed in: at least
/// bytes(), and a bit more where they do not fit together.
int64_t placedBytes(const Problem &problem, const Schedule &schedule);

/// The schedule with the shortest simulated step that takes at most the limit,
/// and of those within 0.02 % of it the one that takes least memory. Tried are
/// gathers in their order, each as early as so many gathered bytes alive at
/// once leave room, for a row of such amounts; the last N units of forward held
/// until backward, for a row of N; and reductions that are waited for up to so
/// many reductions later. Then every gather begins as late as it may. Tried is
/// also what begins one gather ahead. Where nothing keeps the limit, what takes
/// least memory.
Schedule schedule(const Problem &problem);

} // namespace shardc::schedule

#endif

// A rank that waits may wait for one that computes, reads or writes: it is no
// fault as long as any of them goes on.
#include "runtime/train/Watchdog.h"

#include "runtime/base/EntryText.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/train/Trainer.h"

#include <algorithm>

namespace shardc::runtime {

using std::chrono::milliseconds;

void StillRanks::take(const std::vector<ProcessNotes> &notes, Time now) {
  if (seen.size() != notes.size()) {
    seen.assign(notes.size(), {});
    begun = now;
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    Process &process = seen[i];
    const ProcessNotes &told = notes[i];
    if (process.ranks.size() != told.ranks.size() ||
        process.moves != told.moves) {
      process.since = now;
      process.moves = told.moves;
    }
    for (size_t rank = 0; rank < told.ranks.size(); ++rank) {
      if (rank == process.ranks.size())
        process.ranks.push_back({told.ranks[rank], now});
      Seen &last = process.ranks[rank];
      if (!last.value.isAt(told.ranks[rank]))
        last.since = now;
      last.value = told.ranks[rank];
    }
  }
}

std::optional<StillRanks::Found>
StillRanks::waitingFor(const std::function<milliseconds(RankPhase)> &limit,
                       Time now) const {
  const std::vector<Seen> &own = seen[process].ranks;
  for (size_t rank = 0; rank < own.size(); ++rank)
    if (milliseconds still = timeSince(own[rank].since, now);
        own[rank].value.waits && still >= limit(own[rank].value.phase()))
      return Found{.still = still, .at = {}, .waitingRank = int(rank)};
  return std::nullopt;
}

std::optional<StillRanks::Found>
StillRanks::lookForStopped(const std::vector<ProcessNotes> &notes,
                           Time now) const {
  std::optional<Found> found =
      waitingFor([&](RankPhase) { return limits.stopped; }, now);
  for (size_t i = 0; found && i < seen.size(); ++i) {
    milliseconds quiet = timeSince(notes[i].told, now);
    if (int(i) == process || quiet < limits.stopped || !isStopped(int(i)))
      continue;
    found->why = Found::Why::Stopped;
    found->process = int(i), found->rank = notes[i].cause();
    found->still = quiet;
    found->at = notes[i].ranks[found->rank];
    return found;
  }
  return std::nullopt;
}

std::optional<StillRanks::Found>
StillRanks::look(const std::vector<ProcessNotes> &notes, Time now) {
  take(notes, now);
  // Is anybody here kept waiting?
  if (size_t(process) >= seen.size())
    return std::nullopt;
  if (std::optional<Found> stopped = lookForStopped(notes, now))
    return stopped;
  std::optional<Found> found =
      waitingFor([&](RankPhase phase) { return limits.of(phase); }, now);
  if (!found)
    return std::nullopt;

  const Seen *furthestBack = nullptr, *stuck = nullptr;
  Found behind = *found, cause = *found;
  std::optional<Found> silent;
  for (size_t i = 0; i < seen.size(); ++i) {
    milliseconds quiet = timeSince(notes[i].told, now);
    if (quiet >= limits.inStep) {
      // Whatever its ranks do, a process answers once it has begun to. What it
      // last told is what is known of it.
      if (notes[i].told == Time() && quiet < limits.outside)
        return std::nullopt;
      if (!silent && !seen[i].ranks.empty()) {
        silent = *found;
        silent->why = Found::Why::Silent;
        silent->process = int(i), silent->rank = notes[i].cause();
        silent->still = quiet;
        silent->at = notes[i].ranks[silent->rank];
      }
      continue;
    }
    if (timeSince(seen[i].since, now) < limits.inStep)
      return std::nullopt; // messages go on
    for (size_t rank = 0; rank < seen[i].ranks.size(); ++rank) {
      const Seen &each = seen[i].ranks[rank];
      milliseconds still = timeSince(each.since, now);
      if (still < limits.of(each.value.phase()))
        return std::nullopt;
      if (!each.value.waits && (!stuck || each.since < stuck->since)) {
        stuck = &each;
        cause.process = int(i), cause.rank = int(rank);
        cause.why = Found::Why::Stuck;
        cause.still = still, cause.at = each.value;
      }
      if (!furthestBack || each.value.word < furthestBack->value.word) {
        furthestBack = &each;
        behind.process = int(i), behind.rank = int(rank);
        behind.why = Found::Why::Behind;
        behind.still = still, behind.at = each.value;
      }
    }
  }
  return silent ? silent : stuck ? cause : behind;
}

std::string placeText(const plan::Plan &plan, const RankNoteValue &at) {
  switch (at.phase()) {
  case RankPhase::Starting:
    return "before its first step";
  case RankPhase::Ended:
    return "at its end";
  default:
    break;
  }
  std::string text = concat("step ", at.step(), " (counting from 0)");
  if (at.phase() == RankPhase::Samples)
    return text + ", waiting for its samples to be read";
  if (at.phase() == RankPhase::Saving)
    return text + ", saving a checkpoint";
  if (at.phase() == RankPhase::Writing)
    return text + ", writing outputs";
  if (at.phase() == RankPhase::Checking)
    return text + ", compared with the unsharded step";
  bool trains = at.phase() == RankPhase::Step;
  const plan::Program &program = trains ? plan.train() : plan.eval();
  bool hasBegun = at.entry() >= 0;
  int index = hasBegun ? at.entry() : 0;
  if (index >= program.entries_size())
    return text + (trains ? "" : ", in an evaluation");
  const plan::Entry &entry = program.entries(index);
  text += concat(hasBegun ? ", plan entry " : ", before plan entry ",
                 entry.name(), " (", trains ? "train" : "eval",
                 entry.phase().empty() ? "" : ", ", entry.phase(), ")");
  std::string nodes = nodesNear(program, index);
  return nodes.empty() ? text : text + ", " + nodes;
}

Watchdog::Watchdog(World &world, const plan::Plan &plan, StillLimits limits,
                   AtOnce atOnce)
    : world(world), plan(plan), limits(limits),
      interval(
          std::clamp(limits.inStep / 8, milliseconds(50), milliseconds(1000))),
      atOnce(std::move(atOnce)) {
  world.watch(interval,
              [&plan](const RankNoteValue &at) { return placeText(plan, at); });
  thread = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  end.notify_all();
  thread.join();
}

bool Watchdog::endsWithin(milliseconds time) {
  std::unique_lock lock(mutex);
  return end.wait_for(lock, time, [&] { return ends; });
}

int Watchdog::firstRankOf(int process) const {
  return process * world.localRanks().size();
}

std::string Watchdog::nameOf(int process, int rank) const {
  std::vector<std::string> hosts = world.hosts();
  std::string text = concat("rank ", firstRankOf(process) + rank);
  if (hosts.size() > 1)
    text += concat(" (process ", process, hosts[process].empty() ? "" : ", on ",
                   hosts[process], ")");
  return text;
}

std::string Watchdog::describe(const StillRanks::Found &found) const {
  using Why = StillRanks::Found::Why;
  int own = world.localRanks().begin / world.localRanks().size();
  double seconds = double(found.still.count()) / 1000;
  std::string text = nameOf(found.process, found.rank);
  std::string timeout =
      concat(" (--timeout ", limits.inStep.count() / 1000, ")");
  switch (found.why) {
  case Why::Stopped:
    text += concat(" does not answer since ", seconds,
                   " s: a signal has stopped its process; where it was last: ");
    timeout = "";
    break;
  case Why::Silent:
    text +=
        concat(" does not answer since ", seconds,
               " s: its process has stopped, or the network to it; where it "
               "was last: ");
    break;
  case Why::Stuck:
    text += concat(" does not go on since ", seconds, " s: ");
    break;
  case Why::Behind:
    text += concat(" does not go on since ", seconds,
                   " s, as all ranks wait, and none is further back: ");
    break;
  }
  return concat(text, placeText(plan, found.at), "; ",
                nameOf(own, found.waitingRank), " waits for it", timeout);
}

void Watchdog::run() {
  using Clock = std::chrono::steady_clock;
  int own = world.localRanks().begin / world.localRanks().size();
  StillRanks ranks(own, limits,
                   [this](int process) { return world.isStopped(process); });
  Clock::time_point last = Clock::now();
  while (!endsWithin(interval)) {
    // Whose device or library does not let go of it does not end by itself.
    if (std::string reason = world.reasonOfAbort(); !reason.empty()) {
      if (!endsWithin(limits.ending))
        atOnce(reason, world.hasFailed() ? BadInput : LostProcess);
      return;
    }
    Clock::time_point now = Clock::now();
    // This process itself was stopped, and the others may have been.
    if (now - last > 3 * interval + std::chrono::seconds(1))
      ranks.forget();
    last = now;
    std::optional<StillRanks::Found> found = ranks.look(world.notes(), now);
    if (!found)
      continue;
    std::string text = world.abort(describe(*found));
    // Who is not stuck ends with this error.
    if (!endsWithin(std::chrono::seconds(2)))
      atOnce(text, LostProcess);
    return;
  }
}

Stop watched(Run &run, const Watchdog::AtOnce &atOnce) {
  if (run.world.ranks() == 1)
    return train(run);
  std::chrono::seconds timeout(run.options.launch.timeout);
  std::chrono::seconds outside(run.options.launch.startTimeout);
  StillLimits limits{timeout, std::max(timeout, outside)};
  limits.stopped = std::min<milliseconds>(limits.stopped, timeout);
  Watchdog watchdog(run.world, run.plan, limits, atOnce);
  return train(run);
}

} // namespace shardc::runtime

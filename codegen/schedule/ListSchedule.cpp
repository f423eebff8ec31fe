// A search over few numbers, each point of which is a greedy list schedule.
#include "codegen/schedule/ListSchedule.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace shardc::schedule {

using timeline::Step;
using timeline::Timeline;

namespace {

/// What a schedule follows from.
struct Settings {
  int64_t gathered = 0;    // bytes that may be alive at once
  size_t held = 0;         // units that are gathered once for both phases
  size_t reductionsOn = 0; // how many reductions later one is waited for
  bool movesFirst = false; // also one that another collective goes on with
};

/// Where what a gather brings is read last, with those that it is held for.
std::vector<size_t> lastReads(const Problem &problem,
                              const Schedule &schedule) {
  std::vector<size_t> last;
  for (auto [index, gather] : llvm::enumerate(problem.gathers)) {
    last.push_back(gather.last);
    // Whoever it is held for may itself hold on for a later one.
    for (size_t first = index; schedule.held[first];) {
      first = *problem.gathers[first].before;
      last[first] = std::max(last[first], gather.last);
    }
  }
  return last;
}

std::vector<step::Lifetime> gatheredIn(const Problem &problem,
                                       const Schedule &schedule) {
  std::vector<step::Lifetime> gathered;
  std::vector<size_t> last = lastReads(problem, schedule);
  for (auto [index, gather] : llvm::enumerate(problem.gathers))
    if (!schedule.held[index])
      gathered.push_back(
          {gather.stays ? 0 : static_cast<int64_t>(schedule.starts[index]),
           static_cast<int64_t>(last[index]), gather.bytes});
  return gathered;
}

std::vector<step::Lifetime> buffersIn(const Problem &problem,
                                      const Schedule &schedule) {
  std::vector<step::Lifetime> buffers = problem.buffers;
  for (auto [index, reduction] : llvm::enumerate(problem.reductions))
    for (size_t buffer : reduction.buffers)
      buffers[buffer].last =
          std::max(buffers[buffer].last,
                   static_cast<int64_t>(schedule.waits[index]) - 1);
  return buffers;
}

class Search {
public:
  explicit Search(const Problem &problem)
      : problem(problem), size(problem.steps.size()) {}

  Schedule run();
  Schedule ahead(size_t depth);

private:
  Schedule make(const Settings &settings);
  void hold(Schedule &schedule, size_t units);
  /// Puts each start as early as `gathered` bytes leave room.
  void placeStarts(Schedule &schedule, int64_t gathered);
  void placeWaits(Schedule &schedule, const Settings &settings);
  void measure(Schedule &schedule) const;
  /// Moves starts to the end as long as nobody waits longer for it.
  void delayStarts(Schedule &schedule) const;
  std::vector<int64_t> amounts() const;

  const Problem &problem;
  size_t size;
};

void Search::hold(Schedule &schedule, size_t units) {
  schedule.held.assign(problem.gathers.size(), false);
  // Backward begins with the units that forward ends with.
  for (auto [index, gather] : llvm::enumerate(problem.gathers)) {
    if (units == 0)
      break;
    if (gather.before) {
      schedule.held[index] = true;
      --units;
    }
  }
}

void Search::placeStarts(Schedule &schedule, int64_t gathered) {
  std::vector<int64_t> alive(size + 1, 0);
  std::vector<size_t> last = lastReads(problem, schedule);
  schedule.starts.assign(problem.gathers.size(), 0);
  size_t before = 0; // the place of the start before
  for (auto [index, gather] : llvm::enumerate(problem.gathers)) {
    schedule.starts[index] = gather.wait;
    if (schedule.held[index])
      continue;
    if (gather.stays) {
      // Its memory does not depend on when it comes.
      for (size_t at = 0; at <= last[index]; ++at)
        alive[at] += gather.bytes;
      schedule.starts[index] = before = std::max(gather.earliest, before);
      continue;
    }
    bool fits = true;
    for (size_t at = gather.wait; at <= last[index] && fits; ++at)
      fits = alive[at] + gather.bytes <= gathered;
    size_t place = gather.wait;
    while (fits && place > std::max(gather.earliest, before) &&
           alive[place - 1] + gather.bytes <= gathered)
      --place;
    for (size_t at = place; at <= last[index]; ++at)
      alive[at] += gather.bytes;
    schedule.starts[index] = before = place;
  }
}

void Search::placeWaits(Schedule &schedule, const Settings &settings) {
  size_t on = settings.reductionsOn;
  schedule.waits.clear();
  for (auto [index, reduction] : llvm::enumerate(problem.reductions)) {
    size_t place = reduction.earliest;
    if (on > 0 && (settings.movesFirst || !reduction.next))
      place = index + on < problem.reductions.size()
                  ? problem.reductions[index + on].earliest
                  : reduction.latest;
    place = std::clamp(place, reduction.earliest, reduction.latest);
    if (reduction.before)
      place = std::max(place, schedule.waits[*reduction.before]);
    schedule.waits.push_back(place);
  }
}

void Search::measure(Schedule &schedule) const {
  schedule.seconds = simulate(arrange(problem, schedule), problem.collectives,
                              problem.slowdown)
                         .seconds;
  schedule.gatherBytes = step::mostAlive(gatheredIn(problem, schedule));
  schedule.bufferBytes = step::mostAlive(buffersIn(problem, schedule));
}

Schedule Search::make(const Settings &settings) {
  Schedule schedule;
  hold(schedule, settings.held);
  placeStarts(schedule, settings.gathered);
  placeWaits(schedule, settings);
  measure(schedule);
  return schedule;
}

std::vector<int64_t> Search::amounts() const {
  // What so many gathers in a row take, at most.
  std::vector<int64_t> amounts;
  size_t count = problem.gathers.size();
  for (size_t row = 1; row <= count; row = row < 4 ? row + 1 : row + row / 2) {
    int64_t sum = 0, most = 0;
    for (size_t index = 0; index < count; ++index) {
      sum += problem.gathers[index].bytes;
      if (index >= row)
        sum -= problem.gathers[index - row].bytes;
      most = std::max(most, sum);
    }
    amounts.push_back(most);
  }
  amounts.push_back(std::numeric_limits<int64_t>::max() / 2);
  return amounts;
}

void Search::delayStarts(Schedule &schedule) const {
  std::vector<size_t> firstAt;
  std::vector<Step> steps = arrange(problem, schedule, &firstAt);
  Timeline timeline = simulate(steps, problem.collectives, problem.slowdown);
  // When compute comes to a place.
  auto timeAt = [&](size_t place) {
    return firstAt[place] < steps.size() ? timeline.steps[firstAt[place]].begin
                                         : timeline.seconds;
  };
  Schedule delayed = schedule;
  double nextBegins = timeline.seconds;
  size_t nextPlace = size;
  for (size_t index = problem.gathers.size(); index-- > 0;) {
    if (schedule.held[index])
      continue;
    const Gather &gather = problem.gathers[index];
    // As long as it took while others had a part of its link, and a bit more.
    double seconds = timeline.collectives[gather.collective].seconds();
    nextBegins = std::max(0.0, std::min(nextBegins, timeAt(gather.wait)) -
                                   1.1 * seconds);
    size_t &place = delayed.starts[index];
    while (place < std::min(gather.wait, nextPlace) &&
           timeAt(place + 1) <= nextBegins)
      ++place;
    nextPlace = place;
  }
  measure(delayed);
  if (problem.prefers(delayed, schedule))
    schedule = std::move(delayed);
}

Schedule Search::run() {
  std::vector<int64_t> rooms = amounts();
  Settings settings{rooms.front()};
  Schedule best = make(settings);
  auto tryOne = [&](const Settings &candidate) {
    Schedule made = make(candidate);
    if (!problem.prefers(made, best))
      return false;
    best = std::move(made);
    settings = candidate;
    return true;
  };
  auto tryRooms = [&] {
    Settings candidate = settings;
    for (int64_t room : rooms) {
      candidate.gathered = room;
      tryOne(candidate);
    }
  };
  auto holdable = static_cast<size_t>(llvm::count_if(
      problem.gathers, [](const Gather &gather) { return gather.before; }));
  bool hasNext =
      llvm::any_of(problem.reductions, [](const Reduction &reduction) {
        return reduction.next.has_value();
      });
  for (int round = 0; round < 2; ++round) {
    double before = best.seconds;
    tryRooms();
    for (size_t on : {0, 1, 2, 4, 1 << 20}) {
      Settings candidate = settings;
      candidate.reductionsOn = on;
      for (bool movesFirst : {false, true}) {
        candidate.movesFirst = movesFirst;
        if (!movesFirst || hasNext)
          tryOne(candidate);
      }
    }
    for (size_t held = 1; held <= holdable;
         held = held == holdable ? held + 1 : std::min(2 * held, holdable)) {
      Settings candidate = settings;
      candidate.held = held;
      candidate.gathered =
          std::min(problem.gatherLimit, problem.limit - best.bufferBytes);
      tryOne(candidate);
    }
    if (best.seconds > before * 0.999)
      break;
  }
  delayStarts(best);
  if (Schedule fixed = ahead(1); problem.prefers(fixed, best))
    return fixed;
  return best;
}

Schedule Search::ahead(size_t depth) {
  Schedule schedule;
  hold(schedule, 0);
  placeWaits(schedule, {});
  size_t before = 0;
  for (auto [index, gather] : llvm::enumerate(problem.gathers)) {
    size_t place = problem.gathers[index < depth ? 0 : index - depth].wait;
    before = std::clamp(place, std::max(gather.earliest, before), gather.wait);
    schedule.starts.push_back(before);
  }
  measure(schedule);
  return schedule;
}

} // namespace

bool Problem::allows(const Schedule &schedule) const {
  return schedule.bytes() <= limit && schedule.gatherBytes <= gatherLimit;
}

bool Problem::prefers(const Schedule &a, const Schedule &b) const {
  bool fitsA = allows(a), fitsB = allows(b);
  if (fitsA != fitsB)
    return fitsA;
  if (!fitsA)
    return std::pair(a.bytes(), a.seconds) < std::pair(b.bytes(), b.seconds);
  constexpr double same = 2e-4;
  if (a.seconds < b.seconds * (1 - same))
    return true;
  return a.seconds <= b.seconds * (1 + same) && a.bytes() < b.bytes();
}

std::vector<Step> arrange(const Problem &problem, const Schedule &schedule,
                          std::vector<size_t> *firstAt) {
  std::vector<bool> isSkipped(problem.collectives.size(), false);
  for (auto [index, gather] : llvm::enumerate(problem.gathers))
    isSkipped[gather.collective] = schedule.held[index];
  std::vector<std::pair<size_t, const Reduction *>> waits; // by place
  for (auto [index, reduction] : llvm::enumerate(problem.reductions))
    waits.push_back({schedule.waits[index], &reduction});
  llvm::stable_sort(waits, llvm::less_first());
  std::vector<Step> steps;
  size_t gather = 0, wait = 0;
  for (size_t place = 0; place <= problem.steps.size(); ++place) {
    if (firstAt)
      firstAt->push_back(steps.size());
    for (; gather < problem.gathers.size() &&
           (schedule.held[gather] || schedule.starts[gather] <= place);
         ++gather)
      if (!schedule.held[gather])
        steps.push_back({Step::Start, 0, problem.gathers[gather].collective});
    for (; wait < waits.size() && waits[wait].first <= place; ++wait) {
      steps.push_back({Step::Wait, 0, waits[wait].second->collective});
      if (std::optional<size_t> next = waits[wait].second->next)
        steps.push_back({Step::Start, 0, *next});
    }
    if (place == problem.steps.size())
      break;
    const Step &own = problem.steps[place];
    if (own.kind != Step::Wait || !isSkipped[own.collective])
      steps.push_back(own);
  }
  return steps;
}

int64_t placedBytes(const Problem &problem, const Schedule &schedule) {
  return step::placeBuffers(gatheredIn(problem, schedule)).bytes +
         step::placeBuffers(buffersIn(problem, schedule)).bytes;
}

Schedule ahead(const Problem &problem, size_t depth) {
  return Search(problem).ahead(depth);
}

Schedule schedule(const Problem &problem) { return Search(problem).run(); }

} // namespace shardc::schedule

// All maximal repetitions are found, and taken from the heaviest on, each with
// its best borders.
#include "passes/units/RepeatedRuns.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace llvm;
using namespace shardc;

namespace {

// Blocks have fewer items than this; without a bound, long sequences would cost
// their square.
constexpr size_t longestPeriod = 4096;
// So many items between borders are weighed at most, in all and per item.
// Sequences of a few thousand items never come near.
constexpr int64_t mostWeighed = int64_t(1) << 26, mostWeighedPerItem = 4096;

/// A range of items [start, end) of which each equals the one `period` after
/// it, if that is in the range.
struct Repetition {
  size_t start, end, period;
  int64_t weight; // of its heaviest run

  size_t count() const { return (end - start) / period; }
  size_t slack() const { return (end - start) % period; }
};

class Finder {
public:
  Finder(ArrayRef<size_t> kinds, ArrayRef<int64_t> weights,
         function_ref<int64_t(size_t, size_t)> crossing)
      : kinds(kinds), before(kinds.size() + 1, 0),
        narrowBefore(kinds.size() + 1, 0), crossing(crossing),
        left(std::max<int64_t>(mostWeighed,
                               mostWeighedPerItem * int64_t(kinds.size()))) {
    for (auto [index, weight] : enumerate(weights))
      before[index + 1] = before[index] + weight;
  }

  SmallVector<RepeatedRun> find() {
    SmallVector<Repetition> all = repetitions();
    if (!all.empty())
      findNarrow();
    llvm::stable_sort(all, [](const Repetition &a, const Repetition &b) {
      return std::tuple(-a.weight, a.period) < std::tuple(-b.weight, b.period);
    });
    SmallVector<RepeatedRun> chosen;
    int64_t best = 0;
    for (const Repetition &repetition : all) {
      if (repetition.weight <= 0 || repetition.weight < best / 10 || left < 0)
        break;
      // Another run may have taken what all runs of this repetition share.
      if (any_of(chosen, [&](const RepeatedRun &other) {
            return repetition.start + repetition.slack() < other.end() &&
                   other.start < repetition.end - repetition.slack();
          }))
        continue;
      if (!hasNarrow(repetition))
        continue;
      std::optional<RepeatedRun> run = bestRun(repetition);
      if (!run || any_of(chosen, [&](const RepeatedRun &other) {
            return run->start < other.end() && other.start < run->end();
          }))
        continue;
      best = std::max(best, weightOf(*run));
      chosen.push_back(*run);
    }
    llvm::sort(chosen, [](const RepeatedRun &a, const RepeatedRun &b) {
      return a.start < b.start;
    });
    return chosen;
  }

private:
  int64_t weightOf(const RepeatedRun &run) const {
    return before[run.end()] - before[run.start];
  }

  /// Repeats have at least two items, and what passes a border is least for
  /// the shortest: where that is more than one value, no repeat of any length
  /// has a narrow border there. Almost all of a sequence through which many
  /// values pass is told by this, before anything of it is weighed.
  void findNarrow() {
    for (size_t border = 0; border < kinds.size(); ++border)
      narrowBefore[border + 1] =
          narrowBefore[border] +
          (border >= 2 && crossing(border - 2, border) <= 1);
  }
  /// Whether any border of its runs can be narrow.
  bool hasNarrow(const Repetition &repetition) const {
    return narrowBefore[repetition.end] >
           narrowBefore[repetition.start + repetition.period];
  }

  SmallVector<Repetition> repetitions() const {
    SmallVector<Repetition> result;
    size_t count = kinds.size();
    for (size_t period = 2; period <= std::min(count / 2, longestPeriod);
         ++period)
      for (size_t start = 0; start + period < count;) {
        size_t end = start;
        while (end + period < count && kinds[end] == kinds[end + period])
          ++end;
        Repetition repetition{start, end + period, period, 0};
        start = end + 1;
        if (repetition.count() < 2)
          continue;
        for (size_t shift = 0; shift <= repetition.slack(); ++shift)
          repetition.weight = std::max(
              repetition.weight,
              weightOf({repetition.start + shift, period, repetition.count()}));
        result.push_back(repetition);
      }
    return result;
  }

  /// Returns nothing where no borders serve.
  std::optional<RepeatedRun> bestRun(const Repetition &repetition) {
    std::optional<RepeatedRun> best;
    int64_t least = noBorder, heaviest = 0;
    for (size_t shift = 0; shift <= repetition.slack() && left >= 0; ++shift) {
      RepeatedRun run{repetition.start + shift, repetition.period,
                      repetition.count()};
      int64_t total = 0, narrowest = noBorder;
      for (size_t repeat = 0;
           repeat + 1 < run.count && total < noBorder && total <= least;
           ++repeat) {
        size_t start = run.start + repeat * run.period;
        int64_t passes = crossing(start, start + run.period);
        left -= run.period;
        narrowest = std::min(narrowest, passes);
        total += passes;
      }
      if (total >= noBorder || narrowest > 1)
        continue;
      if (std::tuple(total, -weightOf(run)) <= std::tuple(least, -heaviest)) {
        best = run;
        least = total;
        heaviest = weightOf(run);
      }
    }
    return best;
  }

  ArrayRef<size_t> kinds;
  SmallVector<int64_t> before; // weight of the items before each
  /// How many of the items before each have a border before them that can be
  /// narrow.
  SmallVector<int64_t> narrowBefore;
  function_ref<int64_t(size_t, size_t)> crossing;
  int64_t left; // items that may still be weighed
};

} // namespace

SmallVector<RepeatedRun>
shardc::findRepeatedRuns(ArrayRef<size_t> kinds, ArrayRef<int64_t> weights,
                         function_ref<int64_t(size_t, size_t)> crossing) {
  return Finder(kinds, weights, crossing).find();
}

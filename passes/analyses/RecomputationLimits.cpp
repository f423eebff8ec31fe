// Choices of what runs again under a limit of time or of memory.
#include "passes/analyses/OpClasses.h"
#include "passes/analyses/SavedValues.h"

#include <cmath>

using namespace mlir;

namespace shardc {

/// What ops take in their kernels depends on which others run again: what was
/// chosen is looked at again, and chosen again.
static constexpr int mostRounds = 4;

OpSet SavedValues::besideOf(const OpSet &chosen) const {
  OpSet beside;
  for (Operation *op : candidates)
    if (!hasNoKernel(op) || chosen.contains(op))
      beside.insert(op);
  return beside;
}

SavedValues::Bracket
SavedValues::bracketAt(double price, OpSet there,
                       llvm::function_ref<bool(const OpSet &)> isMore) {
  // Two prices close to each other, of which one brings too much and one does
  // not.
  constexpr int mostSteps = 40;
  constexpr double close = 1.01;
  Bracket bracket{{}, std::move(there)};
  double low = price, high = price;
  for (int step = 0; step < mostSteps; ++step) {
    high *= 2;
    bracket.less = chooseAt(high);
    if (!isMore(bracket.less))
      break;
    low = high;
    bracket.more = std::move(bracket.less);
    bracket.less.clear();
  }
  while (high > low * close) {
    double middle = std::sqrt(low * high);
    OpSet between = chooseAt(middle);
    bool more = isMore(between);
    (more ? low : high) = middle;
    (more ? bracket.more : bracket.less) = std::move(between);
  }
  return bracket;
}

void SavedValues::recomputeCheap(double movedPerSaved, double mostTime) {
  budget = mostTime * stepSeconds();
  double low = costs.cluster.memoryBandwidth / movedPerSaved;
  recomputed = affordable = chooseAt(low);
  hasChosen = true;
  if (secondsOf(recomputed) <= budget)
    return;
  // A higher price gives up what saves least for its time.
  Bracket bracket = bracketAt(low, recomputed, [&](const OpSet &ops) {
    return secondsOf(ops) > budget;
  });
  recomputed = fillUp(bracket.less, bracket.more, budget);
}

/// A price at which much of what is cheap runs again, and one at which all that
/// saves a byte does.
static constexpr double movedPerSavedAtFirst = 8, lowestPrice = 1e6;

SavedValues::Bracket
SavedValues::bracketFor(llvm::function_ref<bool(const OpSet &)> isMore) {
  double price = costs.cluster.memoryBandwidth / movedPerSavedAtFirst;
  OpSet there = chooseAt(price);
  while (!isMore(there) && price > lowestPrice) {
    price = std::max(price / 16, lowestPrice);
    there = chooseAt(price);
  }
  if (!isMore(there))
    return {there, there};
  return bracketAt(price, std::move(there), isMore);
}

void SavedValues::recomputeWithin(double share) {
  hasChosen = true;
  budget = share * stepSeconds();
  Bracket bracket =
      bracketFor([&](const OpSet &ops) { return secondsOf(ops) > budget; });
  affordable = bracket.more;
  OpSet best = secondsOf(bracket.more) <= budget
                   ? bracket.more
                   : fillUp(bracket.less, bracket.more, budget);
  // The same without the estimates that hold where all else runs again.
  double allowed = budget, allows = 0, forbids = 0;
  recomputed = best;
  for (int round = 0; round < mostRounds; ++round) {
    network.reset();
    recomputed = choose(besideOf(recomputed), [&](RecomputationCut &cut) {
      return cut.within(allowed);
    });
    double seconds = secondsOf(recomputed);
    if (seconds <= budget && bytesKeptWith(recomputed) < bytesKeptWith(best))
      best = recomputed;
    constexpr double close = 0.99;
    if (seconds <= 0 || (seconds <= budget && seconds >= close * budget))
      break;
    (seconds <= budget ? allows : forbids) = allowed;
    double next = allowed * budget / seconds;
    bool isBetween = next > allows && (forbids == 0 || next < forbids);
    allowed = isBetween ? next : (allows + forbids) / 2;
  }
  recomputed = std::move(best);
}

bool SavedValues::recomputeDownTo(int64_t bytes, int64_t &fewest) {
  hasChosen = true;
  budget = std::numeric_limits<double>::infinity();
  Bracket bracket =
      bracketFor([&](const OpSet &ops) { return bytesKeptWith(ops) <= bytes; });
  OpSet best = bytesKeptWith(bracket.less) <= bytes
                   ? bracket.less
                   : fillDown(bracket.less, bracket.more, bytes);
  recomputed = best;
  for (int round = 0; round < mostRounds; ++round) {
    network.reset();
    recomputed = choose(besideOf(recomputed), [&](RecomputationCut &cut) {
      auto choice = cut.downTo(bytes);
      return choice ? std::move(*choice) : cut.at(0);
    });
    fewest = bytesKeptWith(recomputed);
    if (fewest > bytes)
      return false;
    if (bytesKeptWith(best) <= bytes &&
        secondsOf(recomputed) >= secondsOf(best))
      break;
    best = recomputed;
  }
  recomputed = std::move(best);
  fewest = bytesKept();
  return true;
}

} // namespace shardc

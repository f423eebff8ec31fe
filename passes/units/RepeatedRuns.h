// Finds repetition in a sequence (tandem repeats), which tells blocks where
// names do not. It knows numbers only.
#ifndef SHARDC_PASSES_UNITS_REPEATEDRUNS_H
#define SHARDC_PASSES_UNITS_REPEATEDRUNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace shardc {

/// A run is `count` equal repeats of `period` items each, the first at `start`.
struct RepeatedRun {
  size_t start = 0;
  size_t period = 0;
  size_t count = 0;

  size_t end() const { return start + period * count; }
};

/// The crossing of a border that must not be one.
constexpr int64_t noBorder = std::numeric_limits<int32_t>::max();

/// Returns the runs of at least two equal repeats of at least two items in
/// `kinds`, none overlapping another, ascending: the one with the largest sum
/// of `weights` is taken first (of those the one with the shortest repeats),
/// then whatever is worth at least a tenth of it.
///
/// Where a run has more items than its repeats, they could begin at several
/// places. `crossing(start, border)` says how much passes the border between
/// two repeats, of which the first begins at item `start` and the second at
/// `border`; with a later `start` it is the same or less. Repeats begin where
/// least passes; of equal places where they weigh most, and of those at the
/// last (a norm before the first block of a network that normalises after each
/// one is the embedding's). A run through each of whose borders more than one
/// value passes is none: queries and keys are no two blocks.
llvm::SmallVector<RepeatedRun> findRepeatedRuns(
    llvm::ArrayRef<size_t> kinds, llvm::ArrayRef<int64_t> weights,
    llvm::function_ref<int64_t(size_t start, size_t border)> crossing);

} // namespace shardc

#endif

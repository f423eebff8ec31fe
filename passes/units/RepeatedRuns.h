// Repetition in a sequence: what tells blocks where names do not. Knows numbers
// only.
#ifndef SHARDC_PASSES_UNITS_REPEATEDRUNS_H
#define SHARDC_PASSES_UNITS_REPEATEDRUNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace shardc {

/// `count` equal pieces of `period` items each, the first at `start`.
struct RepeatedRun {
  size_t start = 0;
  size_t period = 0;
  size_t count = 0;

  size_t end() const { return start + period * count; }
};

/// The crossing of a border that must not be.
constexpr int64_t noBorder = std::numeric_limits<int32_t>::max();

/// The runs of at least two equal pieces of at least two items in `kinds`, none
/// overlapping another, ascending: the one with the largest sum of `weights`
/// first (of those the one with the shortest pieces), then whatever is worth at
/// least a tenth of it.
///
/// Where a run has more items than its pieces, they could begin at several
/// places. `crossing(piece, border)` says how much passes the border between
/// two pieces, of which the first begins at item `piece` and the second at
/// `border`: pieces begin where least passes; of equal places where they weigh
/// most, of those at the last (a norm before the first block of a network that
/// normalises after each one is the embedding's). A run through each of whose
/// borders more than one thing passes is none: queries and keys are no two
/// blocks.
llvm::SmallVector<RepeatedRun> findRepeatedRuns(
    llvm::ArrayRef<size_t> kinds, llvm::ArrayRef<int64_t> weights,
    llvm::function_ref<int64_t(size_t piece, size_t border)> crossing);

} // namespace shardc

#endif

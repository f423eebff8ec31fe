// Offsets for buffers of known size and lifetime: dynamic storage allocation,
// known to be NP-hard, solved by a portfolio of best-fit heuristics.
#ifndef SHARDC_CODEGEN_STEP_MEMORYPLANNER_H
#define SHARDC_CODEGEN_STEP_MEMORYPLANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace shardc::step {

/// A buffer of `bytes` bytes that is alive at times first, ..., last.
struct Lifetime {
  int64_t first = 0, last = -1;
  int64_t bytes = 0;
  bool overlaps(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct Placement {
  llvm::SmallVector<int64_t> offsets; // one per buffer
  int64_t bytes = 0;                  // offset plus size of the highest buffer
  int64_t bound = 0; // most bytes alive at one time: no placement needs less
};

/// Places the buffers so that no two that are alive at the same time share a
/// byte. Offsets are sums of buffers' bytes: where these are multiples of an
/// alignment, so are they. Deterministic. Buffers are placed one after the other, each into the
/// smallest gap that holds it, in orders by size, by size x lifetime and by
/// start; the best result is kept (Pisarchyk and Lee, arXiv:2001.03288). Where
/// that takes half a percent more than the bound, a search goes on from these
/// orders, for as long as a plan of up to 6,000 buffers bears.
Placement placeBuffers(llvm::ArrayRef<Lifetime> buffers);

/// Most bytes alive at one time.
int64_t mostAlive(llvm::ArrayRef<Lifetime> buffers);

} // namespace shardc::step

#endif

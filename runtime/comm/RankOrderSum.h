// How elements of several ranks are combined, where the order of a sum is that
// of the ranks. Communicators share it whose ranks see each other's elements.
#ifndef SHARDC_RUNTIME_COMM_RANKORDERSUM_H
#define SHARDC_RUNTIME_COMM_RANKORDERSUM_H

#include "runtime/comm/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardc::runtime {

/// What of a sum is of sumType() instead of the elements' own type.
struct Unrounded {
  const std::byte *before = nullptr; // the first term, where there is one
  bool after = false;                // the destinations
};

/// Combines `count` elements of each of `sources`, which are in rank order, and
/// writes them to all `destinations`, each of which may be a source, or what is
/// added before. With `streamed` one destination is stored around the caches.
void combineInRankOrder(std::span<std::byte *const> destinations,
                        std::span<const std::byte *const> sources,
                        int64_t count, plan::DType dtype, Combine combine,
                        bool streamed, Unrounded unrounded = {});

} // namespace shardc::runtime

#endif

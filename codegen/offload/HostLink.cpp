// Free intervals between those that are taken.
#include "codegen/offload/HostLink.h"

#include <algorithm>

namespace shardc::offload {

using timeline::Span;

Span HostLink::first(Direction direction, double after, int64_t bytes) const {
  double seconds = cluster.hostSeconds(bytes);
  for (auto [begin, end] : of(direction)) {
    if (end <= after)
      continue;
    if (after + seconds <= begin)
      break;
    after = end;
  }
  return {after, after + seconds};
}

std::optional<Span> HostLink::last(Direction direction, double after,
                                   double before, int64_t bytes) const {
  double seconds = cluster.hostSeconds(bytes);
  const Busy &taken = of(direction);
  for (auto at = taken.rbegin(); at != taken.rend(); ++at) {
    if (at->first >= before)
      continue;
    if (at->second + seconds <= before)
      break;
    before = at->first;
  }
  if (before - seconds < after)
    return std::nullopt;
  return Span{before - seconds, before};
}

void HostLink::take(Direction direction, Span span) {
  of(direction).emplace(span.begin, span.end);
}

void HostLink::release(Direction direction, Span span) {
  of(direction).erase(span.begin);
}

double HostLink::beginBefore(Direction direction, double time) const {
  auto next = of(direction).lower_bound(time);
  return next == of(direction).begin() ? 0 : std::prev(next)->first;
}

} // namespace shardc::offload

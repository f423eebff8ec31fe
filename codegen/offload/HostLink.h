// When the link between a device and its host is free.
#ifndef SHARDC_CODEGEN_OFFLOAD_HOSTLINK_H
#define SHARDC_CODEGEN_OFFLOAD_HOSTLINK_H

#include "codegen/timeline/Timeline.h"
#include "passes/options/Cluster.h"

#include <map>
#include <optional>

namespace shardc::offload {

/// Times are seconds since the program began. Transfers that are taken do not
/// overlap, but for those of two directions of a duplex link.
class HostLink {
public:
  enum Direction { ToHost, FromHost };

  explicit HostLink(const Cluster &cluster) : cluster(cluster) {}

  /// The first free time of a transfer that begins at `after` or later.
  timeline::Span first(Direction direction, double after, int64_t bytes) const;
  /// The last one that ends at `before` or earlier; nothing where it would
  /// begin before `after`.
  std::optional<timeline::Span> last(Direction direction, double after,
                                     double before, int64_t bytes) const;
  void take(Direction direction, timeline::Span span);
  /// Frees what was taken.
  void release(Direction direction, timeline::Span span);
  /// When the transfer before `time` begins; 0 where there is none.
  double beginBefore(Direction direction, double time) const;

private:
  using Busy = std::map<double, double>; // ends by begins
  const Busy &of(Direction direction) const {
    return busy[cluster.hostIsDuplex ? direction : ToHost];
  }
  Busy &of(Direction direction) {
    return busy[cluster.hostIsDuplex ? direction : ToHost];
  }

  const Cluster &cluster;
  Busy busy[2];
};

} // namespace shardc::offload

#endif

// What one rank brings to a collective: its buffers, and what it takes the
// collective for.
#ifndef SHARDC_RUNTIME_COMM_CONTRIBUTION_H
#define SHARDC_RUNTIME_COMM_CONTRIBUTION_H

#include "runtime/comm/Communicator.h"

#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What one rank brings to a collective.
struct Contribution {
  enum class Kind { None, AllGather, ReduceScatter, AllReduce, AllToAll };
  Kind kind = Kind::None;
  const std::byte *source = nullptr; // all-gather: shard; reduce-scatter: flat
  std::byte *destination = nullptr;
  int64_t count = 0; // elements of a shard (bytes for all-gather)
  plan::DType dtype = plan::INVALID;
  std::vector<Segment> segments;       // all-reduce
  RunningSum running;                  // reduce-scatter
  ResultReader *reader = nullptr;      // reduce-scatter
  std::vector<Parcel> sends, receives; // all-to-all

  static Contribution allGather(const void *shard, void *gathered,
                                int64_t bytes);
  /// These two throw an Error for a type that is not reducible.
  static Contribution reduceScatter(const void *flat, void *shard,
                                    int64_t count, plan::DType dtype,
                                    RunningSum running, ResultReader *reader);
  static Contribution allReduce(std::span<const Segment> segments);
  static Contribution allToAll(std::span<const Parcel> sends,
                               std::span<const Parcel> receives);

  /// What goes to the group's rank `to`, in order, and what comes from `from`.
  std::vector<Parcel> sendsTo(int to) const;
  std::vector<Parcel> receivesFrom(int from) const;

  bool agreesWith(const Contribution &other) const;
  /// Says "all-gather of 128 bytes".
  std::string describe() const;
};

/// Throws an Error where one rank of a group, `from`, sends something else to
/// another than that expects.
void requireParcels(const Contribution &sender, int from,
                    const Contribution &receiver, int to);
/// Copies what it sends, which is what the other expects.
void copyParcels(const Contribution &sender, int from,
                 const Contribution &receiver, int to);

/// Where the sum goes that a rank wants at `result`.
inline std::byte *placeOf(void *result, const RunningSum &running) {
  return static_cast<std::byte *>(running.ends ? result : running.data);
}

} // namespace shardc::runtime

#endif

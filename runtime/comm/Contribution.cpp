// How contributions are made, compared, and called.
#include "runtime/comm/Contribution.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

static void requireReducible(plan::DType dtype) {
  if (!Communicator::isReducible(dtype))
    fail("expects floats, int64 or int32 to add up over ranks, got ",
         dtypeName(dtype));
}

Contribution Contribution::allGather(const void *shard, void *gathered,
                                     int64_t bytes) {
  Contribution made;
  made.kind = Kind::AllGather;
  made.source = static_cast<const std::byte *>(shard);
  made.destination = static_cast<std::byte *>(gathered);
  made.count = bytes;
  made.dtype = plan::UINT8;
  return made;
}

Contribution Contribution::reduceScatter(const void *flat, void *shard,
                                         int64_t count, plan::DType dtype,
                                         RunningSum running,
                                         ResultReader *reader) {
  requireReducible(dtype);
  Contribution made;
  made.kind = Kind::ReduceScatter;
  made.source = static_cast<const std::byte *>(flat);
  made.destination = static_cast<std::byte *>(shard);
  made.count = count;
  made.dtype = dtype;
  made.running = running;
  made.reader = reader;
  return made;
}

Contribution Contribution::allReduce(std::span<const Segment> segments) {
  for (const Segment &segment : segments)
    requireReducible(segment.dtype);
  Contribution made;
  made.kind = Kind::AllReduce;
  made.segments.assign(segments.begin(), segments.end());
  return made;
}

Contribution Contribution::allToAll(std::span<const Parcel> sends,
                                    std::span<const Parcel> receives) {
  Contribution made;
  made.kind = Kind::AllToAll;
  made.sends.assign(sends.begin(), sends.end());
  made.receives.assign(receives.begin(), receives.end());
  return made;
}

static std::vector<Parcel> ofPeer(const std::vector<Parcel> &parcels,
                                  int peer) {
  std::vector<Parcel> of;
  for (const Parcel &parcel : parcels)
    if (parcel.peer == peer)
      of.push_back(parcel);
  return of;
}
std::vector<Parcel> Contribution::sendsTo(int to) const {
  return ofPeer(sends, to);
}
std::vector<Parcel> Contribution::receivesFrom(int from) const {
  return ofPeer(receives, from);
}

void requireParcels(const Contribution &sender, int from,
                    const Contribution &receiver, int to) {
  std::vector<Parcel> sent = sender.sendsTo(to),
                      wanted = receiver.receivesFrom(from);
  auto bytesOf = [](const std::vector<Parcel> &parcels) {
    int64_t bytes = 0;
    for (const Parcel &parcel : parcels)
      bytes += parcel.bytes;
    return bytes;
  };
  if (!std::ranges::equal(sent, wanted, {}, &Parcel::bytes, &Parcel::bytes))
    fail("rank ", from, " of the group sends ", sent.size(), " parcels of ",
         bytesOf(sent), " bytes to rank ", to, ", which expects ",
         wanted.size(), " of ", bytesOf(wanted));
}

void copyParcels(const Contribution &sender, int from,
                 const Contribution &receiver, int to) {
  std::vector<Parcel> sent = sender.sendsTo(to),
                      wanted = receiver.receivesFrom(from);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].bytes > 0)
      std::memcpy(wanted[i].data, sent[i].data, wanted[i].bytes);
}

static bool areSamePart(const RunningSum &a, const RunningSum &b) {
  return a.begins == b.begins && a.ends == b.ends;
}

bool Contribution::agreesWith(const Contribution &other) const {
  return kind == other.kind && count == other.count && dtype == other.dtype &&
         areSamePart(running, other.running) &&
         std::equal(segments.begin(), segments.end(), other.segments.begin(),
                    other.segments.end(),
                    [](const Segment &a, const Segment &b) {
                      return a.count == b.count && a.dtype == b.dtype &&
                             a.combine == b.combine &&
                             areSamePart(a.running, b.running);
                    });
}

static const char *describe(const RunningSum &running) {
  return running.begins
             ? (running.ends ? "" : " (first of several)")
             : (running.ends ? " (last of several)" : " (between others)");
}

std::string Contribution::describe() const {
  switch (kind) {
  case Kind::AllGather:
    return "all-gather of " + std::to_string(count) + " bytes";
  case Kind::ReduceScatter:
    return concat("reduce-scatter of ", count, " ", dtypeName(dtype),
                  runtime::describe(running));
  case Kind::AllReduce: {
    std::string text = "all-reduce of";
    for (const Segment &segment : segments)
      text += concat(" ", segment.count, " ", dtypeName(segment.dtype),
                     segment.combine == Combine::Max ? " (maximum)" : "",
                     runtime::describe(segment.running));
    return text;
  }
  case Kind::AllToAll:
    return "all-to-all";
  default:
    return "nothing";
  }
}

} // namespace shardc::runtime

// Each slice is written to the sender's area, the ranks meet, and the receivers
// read it. Areas take turns, so that a rank that is ahead writes where nobody
// reads any more.
#include "test/emulated-cuda/nccl/Exchange.h"

#include <algorithm>
#include <cstring>

namespace shardc::test::cuda {
namespace {

class Exchange {
public:
  Exchange(ncclComm &comm, const Collective &call)
      : comm(comm), call(call), size(bytesOf(call.type)),
        send(static_cast<std::byte *>(workAddress(call.send))),
        receive(static_cast<std::byte *>(workAddress(call.receive))) {}

  void run() {
    switch (call.kind) {
    case Kind::AllGather:
      return gather();
    case Kind::Parcels:
      return deliver();
    case Kind::AlltoAll:
      return scatter(call.count, [&](int which, size_t at, size_t count) {
        for (int from = 0; from < comm.ranks; ++from)
          std::memcpy(receive + (from * call.count + at) * size,
                      slice(from, which, comm.rank), count * size);
      });
    case Kind::ReduceScatter:
      return scatter(call.count, [&](int which, size_t at, size_t count) {
        addInRing(which, receive + at * size, count);
      });
    default:
      return allReduce();
    }
  }

private:
  bool meet() { return comm.meet(Lane::Stream); }
  /// The elements of a slice of those that all ranks have for one another.
  size_t sliceElements() const {
    return Segment::areaBytes / size / comm.ranks;
  }
  std::byte *slice(int from, int which, int to) const {
    return comm.segment.area(from, which) + to * sliceElements() * size;
  }

  void gather() {
    size_t elements = Segment::areaBytes / size;
    int which = 0;
    for (size_t at = 0; at < call.count; at += elements, which ^= 1) {
      size_t bytes = std::min(elements, call.count - at) * size;
      std::memcpy(comm.segment.area(comm.rank, which), send + at * size, bytes);
      if (!meet())
        return;
      for (int from = 0; from < comm.ranks; ++from)
        std::memcpy(receive + (from * call.count + at) * size,
                    comm.segment.area(from, which), bytes);
    }
  }

  /// What this rank has for rank `to` lies at element to * count of `send`.
  template <typename Take> void scatter(size_t count, Take take) {
    int which = 0;
    for (size_t at = 0; at < count; at += sliceElements(), which ^= 1) {
      size_t elements = std::min(sliceElements(), count - at);
      for (int to = 0; to < comm.ranks; ++to)
        std::memcpy(slice(comm.rank, which, to),
                    send + (to * count + at) * size, elements * size);
      if (!meet())
        return;
      take(which, at, elements);
    }
  }

  /// The bytes of all parcels that go to a peer, or come from it.
  size_t bytesOfPeer(int peer, bool isSent) const;
  /// Bytes [begin, begin + bytes) of those, in a row: to `slice`, or from it.
  void copyParcels(int peer, bool isSent, std::byte *slice, size_t begin,
                   size_t bytes) const;
  /// The ranks say first how much goes to whom, and then send it piece by piece.
  void deliver();

  /// This rank's slices of all ranks, the next rank's first and its own last.
  void addInRing(int which, std::byte *to, size_t count) {
    for (int hop = 1; hop <= comm.ranks; ++hop) {
      const std::byte *values =
          slice((comm.rank + hop) % comm.ranks, which, comm.rank);
      if (hop == 1)
        std::memcpy(to, values, count * size);
      else
        reduce(call.type, call.op, to, values, count);
    }
  }

  /// Rank r adds the r-th part, and gives it to all. Areas do not take turns:
  /// one is for the parts, one for their sums.
  void allReduce() {
    size_t part = (call.count + comm.ranks - 1) / comm.ranks;
    for (size_t at = 0; at < part; at += sliceElements()) {
      auto elementsOf = [&](int rank) {
        size_t begin = rank * part + at;
        size_t end = std::min(begin - at + part, call.count);
        return begin < end ? std::min(sliceElements(), end - begin) : 0;
      };
      for (int to = 0; to < comm.ranks; ++to)
        std::memcpy(slice(comm.rank, 0, to), send + (to * part + at) * size,
                    elementsOf(to) * size);
      if (!meet())
        return;
      addInRing(0, comm.segment.area(comm.rank, 1), elementsOf(comm.rank));
      if (!meet())
        return;
      for (int from = 0; from < comm.ranks; ++from)
        std::memcpy(receive + (from * part + at) * size,
                    comm.segment.area(from, 1), elementsOf(from) * size);
    }
  }

  ncclComm &comm;
  const Collective &call;
  const size_t size;
  const std::byte *send;
  std::byte *receive;
};

size_t Exchange::bytesOfPeer(int peer, bool isSent) const {
  size_t bytes = 0;
  for (const Parcel &parcel : call.parcels)
    bytes += parcel.peer == peer && parcel.isSent == isSent ? parcel.bytes : 0;
  return bytes;
}

void Exchange::copyParcels(int peer, bool isSent, std::byte *slice,
                           size_t begin, size_t bytes) const {
  size_t at = 0; // of the parcel that comes next
  for (const Parcel &parcel : call.parcels) {
    if (parcel.peer != peer || parcel.isSent != isSent)
      continue;
    size_t from = std::max(at, begin),
           to = std::min(at + parcel.bytes, begin + bytes);
    if (from < to) {
      auto *own =
          static_cast<std::byte *>(workAddress(parcel.address)) + (from - at);
      std::byte *there = slice + (from - begin);
      std::memcpy(isSent ? there : own, isSent ? own : there, to - from);
    }
    at += parcel.bytes;
  }
}

void Exchange::deliver() {
  for (int to = 0; to < comm.ranks; ++to) {
    size_t bytes = bytesOfPeer(to, true);
    std::memcpy(slice(comm.rank, 0, to), &bytes, sizeof(bytes));
  }
  if (!meet())
    return;
  size_t most = 0;
  for (int from = 0; from < comm.ranks; ++from)
    for (int to = 0; to < comm.ranks; ++to) {
      size_t bytes;
      std::memcpy(&bytes, slice(from, 0, to), sizeof(bytes));
      most = std::max(most, bytes);
      if (to == comm.rank && bytes != bytesOfPeer(from, false))
        finding(comm.describe() + ": rank " + std::to_string(from) +
                " sends it " + std::to_string(bytes) + " bytes, and it takes " +
                std::to_string(bytesOfPeer(from, false)));
    }
  int which = 1;
  for (size_t at = 0; at < most; at += sliceElements(), which ^= 1) {
    for (int to = 0; to < comm.ranks; ++to)
      copyParcels(to, true, slice(comm.rank, which, to), at, sliceElements());
    if (!meet())
      return;
    for (int from = 0; from < comm.ranks; ++from)
      copyParcels(from, false, slice(from, which, comm.rank), at,
                  sliceElements());
  }
}

} // namespace

std::string Collective::describe() const {
  if (kind == Kind::Parcels)
    return "ncclSend and ncclRecv of " + std::to_string(parcels.size()) +
           " parcels";
  const char *names[] = {"", "ncclAllGather", "ncclReduceScatter",
                         "ncclAllReduce", "ncclAlltoAll"};
  bool reduces = kind == Kind::ReduceScatter || kind == Kind::AllReduce;
  return std::string(names[int(kind)]) + " of " + std::to_string(count) + " " +
         nameOf(type) + (reduces && op == ncclMax ? " (max)" : "");
}

size_t Collective::sendBytes(int ranks) const {
  bool sendsToEach = kind == Kind::ReduceScatter || kind == Kind::AlltoAll;
  return count * bytesOf(type) * (sendsToEach ? ranks : 1);
}

size_t Collective::receiveBytes(int ranks) const {
  bool hasOfEach = kind == Kind::AllGather || kind == Kind::AlltoAll;
  return count * bytesOf(type) * (hasOfEach ? ranks : 1);
}

void exchange(ncclComm &comm, const Collective &collective) {
  if (collective.count || !collective.parcels.empty())
    Exchange(comm, collective).run();
  // Nobody writes to an area that another rank still reads.
  comm.meet(Lane::Stream);
}

} // namespace shardc::test::cuda

// Collectives between ranks, as one rank sees them: it starts them and then
// waits for them. Ranks are threads of one process (Threads.h) or of several
// (Processes.h). One conformance suite runs over both:
// test/runtime/comm/CommTest.cpp.
#ifndef SHARDC_RUNTIME_COMM_COMMUNICATOR_H
#define SHARDC_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/comm/RankNote.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace shardc::runtime {

class Memory;
class ThreadPool;

/// Ranks of a group in a row: [first, first + count).
struct LocalMembers {
  int first = 0, count = 0;
};

/// What only ranks whose buffers lie in the memory of hosts have.
class HostRanks {
public:
  virtual ~HostRanks() = default;
  /// The ranks of this communicator that are in this process.
  virtual LocalMembers localMembers() const = 0;
  /// Returns `bytes` > 0 of zeros, at one address for the local members. They
  /// stay until the last of them lets go. All ask for the same sizes in the
  /// same order; nobody waits. Throws an Error with `name` when the system has
  /// no more.
  virtual std::shared_ptr<Memory> sharedMemory(const std::string &name,
                                               int64_t bytes) = 0;
  /// Sets the threads that may help while this rank waits, in whatever group.
  /// With null it does its part alone. The pool must outlive all waits.
  virtual void helpWith(ThreadPool *pool) = 0;
};

/// How ranks' elements become one. The maximum of values of which one is not a
/// number is not a number.
enum class Combine { Sum, Max };

/// Part of a sum over several reductions, as over the micro-batches of a step.
/// Between them `data` holds what was added so far, not rounded: elements of
/// sumType() of what is reduced, as many as the rank gets.
struct RunningSum {
  void *data = nullptr;
  /// Whether this reduction is the first: nothing was added before.
  bool begins = true;
  /// Whether it is the last: the sum is the result, and `data` is left as it
  /// is. Otherwise the sum goes to `data`, and what the result is, is not said.
  bool ends = true;
};

/// Sees what comes out of a rank's reduce-scatter while it is in a cache.
class ResultReader {
public:
  virtual ~ResultReader() = default;
  /// Gets elements from `begin` on, of the type of what is reduced. Each comes
  /// once before wait() returns: in pieces, in any order, on any threads, on
  /// several at a time.
  virtual void read(int64_t begin, std::span<const std::byte> elements) = 0;
};

/// `count` elements in a row.
struct Segment {
  void *data;
  int64_t count;
  plan::DType dtype; // see isReducible
  Combine combine = Combine::Sum;
  RunningSum running = {}; // of a sum
};

/// What goes to another rank of a group in an all-to-all, or comes from it: the
/// k-th that a sends to b is the k-th that b gets from a, and as long. A rank may
/// have some for itself.
struct Parcel {
  int peer = 0;
  std::byte *data = nullptr;
  int64_t bytes = 0;
};

/// In which order an implementation adds what ranks bring.
enum class SumOrder {
  /// The sum is ((x0 + x1) + x2) + ..., so sums are equal on every rank, for
  /// any number of threads, and between reduceScatter and allReduce. A running
  /// sum is the first term, so R ranks in K reductions add up as R * K in one.
  Ranks,
  /// The implementation has an order of its own: sums are equal on every rank,
  /// not between calls.
  Any,
};

/// Waits throw this after some rank gave up: the cause lies there, not here.
class Aborted : public Error {
public:
  using Error::Error;
};

/// One rank's end of a group of ranks: all of them (the world), or those of
/// group(). Every rank of a group starts the same collectives in the same
/// order; between groups there is no order: starting never blocks, so any
/// number may be on their way in any number of groups. One thread of a rank
/// uses its communicators at a time.
///
/// Buffers lie where the device of the ranks computes. float32, float64, int64
/// and int32 are added in their own type (integers wrap around), float16 and
/// bfloat16 in float32, and rounded once to nearest even; sumOrder() says in
/// which order.
class Communicator {
public:
  /// A collective of this communicator that has been started.
  using Ticket = uint64_t;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual SumOrder sumOrder() const = 0;
  /// Is null where the ranks' buffers do not lie in hosts' memory.
  virtual HostRanks *hostRanks() { return nullptr; }

  /// Where this rank notes what it is at, for all its groups. By default nobody
  /// reads it.
  virtual RankNote &note() {
    static thread_local RankNote unread;
    return unread;
  }

  /// Returns the group of the ranks base + k * stride, 0 <= k < size, around
  /// this one: base = rank() - (rank() / stride % size) * stride. All ranks of
  /// this communicator ask for the same groups in the same order. The group
  /// lives as long as this communicator. Throws an Error where stride * size
  /// does not divide this->size().
  virtual Communicator &group(int64_t stride, int64_t size) = 0;

  /// Starts an all-gather: gathered[r * bytes, (r + 1) * bytes) = rank r's
  /// shard. The shard may not change before finish(); it may be the rank's own
  /// slice of `gathered`. Ranks of one process may give one `gathered`, which is
  /// written when all of them have started.
  virtual Ticket startAllGather(const void *shard, void *gathered,
                                int64_t bytes) = 0;
  /// Starts a reduce-scatter: shard = sum over ranks of elements [rank * count,
  /// (rank + 1) * count) of `flat`. Neither the shard nor the running sum may
  /// overlap `flat`. A `reader` sees the shard, where that gets
  /// the result, and lives as long as it.
  virtual Ticket startReduceScatter(const void *flat, void *shard,
                                    int64_t count, plan::DType dtype,
                                    RunningSum running = {},
                                    ResultReader *reader = nullptr) = 0;
  /// Starts an all-reduce: every segment becomes its sum (or maximum) over
  /// ranks. The segments of all ranks agree in number, counts, types,
  /// combination, and in which part of a running sum they are.
  virtual Ticket startAllReduce(std::span<const Segment> segments) = 0;

  /// Starts an all-to-all: every rank sends and gets what it says here, and
  /// the lists of all ranks match. What is sent may not change before finish(),
  /// and overlaps nothing that is got.
  virtual Ticket startAllToAll(std::span<const Parcel> sends,
                               std::span<const Parcel> receives) = 0;

  /// Returns when this rank's results are there. Throws Aborted when a rank
  /// gave up.
  virtual void wait(Ticket ticket) = 0;
  /// Does what wait() does, and returns when no other rank reads this rank's
  /// buffers of that collective any more. Each collective is finished once, in
  /// the end.
  virtual void finish(Ticket ticket) = 0;

  /// Returns when all ranks have come here.
  virtual void barrier() = 0;

  /// Gives up: this wait and all later ones of all ranks of the world, in
  /// whatever group, throw an Aborted that names this rank and `reason`.
  virtual void abort(const std::string &reason) = 0;

  /// Throws an Aborted where a rank has given up, and does not wait: for who
  /// waits elsewhere, as for a device.
  virtual void throwIfAborted() = 0;

  /// Must be called before buffers are freed that collectives of any of this
  /// rank's communicators were started with: no rank touches them afterwards.
  /// It aborts, if one is not finished.
  virtual void leave() = 0;

  /// Starts a barrier in two phases: its wait() returns when all ranks have
  /// started it.
  Ticket startBarrier() { return startAllReduce({}); }

  /// Starts and finishes in one call.
  void allReduce(std::span<const Segment> segments) {
    finish(startAllReduce(segments));
  }

  /// Whether collectives add and compare elements of this type: floats of 16,
  /// 32 and 64 bits, INT64 and INT32.
  static bool isReducible(plan::DType dtype) {
    return dtype == plan::FLOAT32 || dtype == plan::FLOAT64 ||
           dtype == plan::BFLOAT16 || dtype == plan::FLOAT16 ||
           dtype == plan::INT64 || dtype == plan::INT32;
  }
  /// Throws an Error where groups of that shape do not divide `ranks`.
  static void requireGroup(int64_t stride, int64_t size, int64_t ranks) {
    if (stride < 1 || size < 1 || size > ranks || stride > ranks ||
        ranks % (stride * size) != 0)
      fail("no groups of ", size, " ranks with a stride of ", stride, " in ",
           ranks, " ranks: the product does not divide");
  }
  /// The type in which elements of a reducible type are added.
  static plan::DType sumType(plan::DType dtype) { return widenedDtype(dtype); }
};

} // namespace shardc::runtime

#endif

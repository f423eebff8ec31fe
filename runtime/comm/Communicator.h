// Collectives between ranks, as one rank sees them: started, then waited for.
// Implementations: Threads.h (ranks are threads of one process). One
// conformance suite runs over all of them: test/runtime/CommTest.cpp.
#ifndef SHARDC_RUNTIME_COMM_COMMUNICATOR_H
#define SHARDC_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/Error.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <span>
#include <string>

namespace shardc::runtime {

class ThreadPool;

/// `count` elements in a row.
struct Segment {
  void *data;
  int64_t count;
  plan::DType dtype; // FLOAT32, FLOAT64 or INT64
};

/// What waits throw after some rank gave up: the cause lies there, not here.
class Aborted : public Error {
public:
  using Error::Error;
};

/// One rank's end of a group of ranks. Every rank of the group starts the same
/// collectives in the same order; one thread of a rank uses its communicator at
/// a time.
///
/// Sums are in rank order, ((x0 + x1) + x2) + ..., in the elements' own type,
/// so they are equal on every rank, for any number of threads, and between
/// reduceScatter and allReduce.
class Communicator {
public:
  /// A collective on its way.
  using Ticket = uint64_t;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// gathered[r * bytes, (r + 1) * bytes) = rank r's shard. The shard may not
  /// change before finish(); it may be the rank's own slice of `gathered`.
  virtual Ticket startAllGather(const void *shard, void *gathered,
                                int64_t bytes) = 0;
  /// shard = sum over ranks of elements [rank * count, (rank + 1) * count) of
  /// `flat`.
  virtual Ticket startReduceScatter(const void *flat, void *shard,
                                    int64_t count, plan::DType dtype) = 0;
  /// Every segment becomes its sum over ranks. The segments of all ranks agree
  /// in number, counts and types.
  virtual Ticket startAllReduce(std::span<const Segment> segments) = 0;

  /// Returns when this rank's results are there. `pool`: threads that may help.
  /// Throws Aborted when a rank gave up.
  virtual void wait(Ticket ticket, ThreadPool &pool) = 0;
  /// wait(), and no other rank reads this rank's buffers of that collective any
  /// more. Each collective is finished once, in the end.
  virtual void finish(Ticket ticket, ThreadPool &pool) = 0;

  /// Returns when all ranks have come here.
  virtual void barrier() = 0;

  /// Gives up: this and all later waits of all ranks throw an Aborted that
  /// names this rank and `reason`.
  virtual void abort(const std::string &reason) = 0;

  /// To be called before buffers are freed that collectives were started with:
  /// no rank touches them afterwards. Aborts, if any of this rank's collectives
  /// is not finished.
  virtual void leave() = 0;

  /// Start and finish in one.
  void allReduce(std::span<const Segment> segments, ThreadPool &pool) {
    finish(startAllReduce(segments), pool);
  }
};

} // namespace shardc::runtime

#endif

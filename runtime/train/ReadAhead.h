// The thread that reads batches before they are needed: one for all ranks of
// the process. Each micro-batch of a rank's step has a buffer. As soon as what
// is in it has gone to the device, that of the next step is read into it, while
// the device computes.
#ifndef SHARDC_RUNTIME_TRAIN_READAHEAD_H
#define SHARDC_RUNTIME_TRAIN_READAHEAD_H

#include "runtime/data/SampleOrder.h"
#include "runtime/launch/World.h"
#include "runtime/train/BatchLoader.h"
#include "runtime/train/RunSettings.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shardc::runtime {

class ReadAhead {
public:
  /// Begins to read for all ranks of `local`, from the cursor where the run
  /// begins to its last step. All references must outlive it.
  ReadAhead(const plan::Plan &plan, const Dataset &data,
            const RunSettings &settings, const OrderSettings &order,
            RankRange local);
  /// Stops reading, wherever it is.
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// A rank's end. Where it goes, because its thread has failed or is done,
  /// nothing more is read for it, and the others do not wait for it.
  class Reader {
  public:
    Reader(ReadAhead &ahead, int rank) : ahead(ahead), rank(rank) {}
    ~Reader() { ahead.leave(rank); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    /// The valid labels of a micro-batch of this rank's step, as soon as it is
    /// read. A batch that cannot be read has none: next() says why.
    double labelWeight(int64_t microBatch) {
      return ahead.wait(rank, microBatch).batch.labelWeight;
    }
    /// The batch, as soon as it is read; null where it cannot be.
    const Batch *tryNext(int64_t microBatch);
    /// The batch itself; it stays until done(). Throws the Error of reading it.
    const Batch &next(int64_t microBatch);
    /// Lets the same micro-batch of the next step be read.
    void done(int64_t microBatch) { ahead.release(rank, microBatch); }

  private:
    ReadAhead &ahead;
    const int rank;
  };

  /// What a rank's buffers take.
  static int64_t bytesPerRank(const plan::Plan &plan, int64_t microBatches) {
    return batchBytes(plan) * microBatches;
  }

private:
  struct Slot {
    Batch batch;
    std::exception_ptr error; // where it cannot be read
    bool isRead = false;
  };
  struct RankSlots {
    std::vector<Slot> slots; // by micro-batch
    std::condition_variable read;
    bool isGone = false;
  };

  void run();
  /// Returns whether a batch is to be read into the slot: the rank is there.
  bool waitUntilFree(RankSlots &rank, Slot &slot);
  void read(Slot &slot, const Cursor &begin, int64_t first);
  const Slot &wait(int rank, int64_t microBatch);
  void release(int rank, int64_t microBatch);
  void leave(int rank);

  const plan::Plan &plan;
  const Dataset &data;
  const RunSettings &settings;
  SampleOrder order; // the thread's
  RankRange local;
  std::mutex mutex; // of all that follows
  std::condition_variable freed;
  bool stopping = false;
  std::vector<RankSlots> ranks; // the local ones
  std::thread thread;
};

} // namespace shardc::runtime

#endif

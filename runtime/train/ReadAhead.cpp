// Batches in the order in which steps take them: by step, micro-batch and rank.
// Ranks work on the same step, or wait for each other in it, so that none is
// kept waiting for a buffer of another one for long.
#include "runtime/train/ReadAhead.h"

#include "runtime/base/Error.h"

#include <sys/resource.h>
#include <unistd.h>

namespace shardc::runtime {

ReadAhead::ReadAhead(const plan::Plan &plan, const Dataset &data,
                     const RunSettings &settings, const OrderSettings &given,
                     RankRange local)
    : plan(plan), data(data), settings(settings),
      order(settings.samples, settings.globalBatch, given, settings.batch,
            plan.mesh().ranks()),
      local(local), ranks(local.size()) {
  for (RankSlots &rank : ranks)
    rank.slots.resize(settings.microBatches);
  thread = std::thread([this] { run(); });
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  freed.notify_one();
  thread.join();
}

void ReadAhead::run() {
  // What a device computes on these cores comes first; a rank that waits leaves
  // its own to this thread.
  constexpr int niceness = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness);
  Cursor cursor = settings.start.cursor;
  for (int64_t step = settings.start.step; step < settings.steps; ++step) {
    cursor = order.begin(cursor);
    for (int64_t i = 0; i < settings.microBatches; ++i)
      for (int rank = local.begin; rank < local.end; ++rank) {
        RankSlots &own = ranks[rank - local.begin];
        Slot &slot = own.slots[i];
        if (!waitUntilFree(own, slot))
          continue;
        read(slot, cursor, (i * plan.mesh().ranks() + rank) * settings.batch);
        {
          std::lock_guard lock(mutex);
          slot.isRead = true;
        }
        own.read.notify_one();
      }
    std::lock_guard lock(mutex);
    if (stopping)
      return;
    cursor = order.end(cursor);
  }
}

bool ReadAhead::waitUntilFree(RankSlots &rank, Slot &slot) {
  std::unique_lock lock(mutex);
  freed.wait(lock, [&] { return !slot.isRead || rank.isGone || stopping; });
  return !rank.isGone && !stopping;
}

void ReadAhead::read(Slot &slot, const Cursor &begin, int64_t first) {
  // The rank looks at a slot only when it is read.
  try {
    slot.batch.samples.resize(settings.batch);
    for (int64_t i = 0; i < settings.batch; ++i)
      slot.batch.samples[i] = order.sampleAt(begin, first + i);
    readBatch(plan, data, slot.batch);
    slot.error = nullptr;
  } catch (...) {
    slot.error = std::current_exception();
  }
}

const ReadAhead::Slot &ReadAhead::wait(int rank, int64_t microBatch) {
  RankSlots &own = ranks[rank - local.begin];
  const Slot &slot = own.slots[microBatch];
  std::unique_lock lock(mutex);
  own.read.wait(lock, [&] { return slot.isRead; });
  return slot;
}

void ReadAhead::release(int rank, int64_t microBatch) {
  {
    std::lock_guard lock(mutex);
    ranks[rank - local.begin].slots[microBatch].isRead = false;
  }
  freed.notify_one();
}

void ReadAhead::leave(int rank) {
  {
    std::lock_guard lock(mutex);
    ranks[rank - local.begin].isGone = true;
  }
  freed.notify_one();
}

const Batch *ReadAhead::Reader::tryNext(int64_t microBatch) {
  const Slot &slot = ahead.wait(rank, microBatch);
  return slot.error ? nullptr : &slot.batch;
}

const Batch &ReadAhead::Reader::next(int64_t microBatch) {
  const Slot &slot = ahead.wait(rank, microBatch);
  if (slot.error)
    std::rethrow_exception(slot.error);
  return slot.batch;
}

} // namespace shardc::runtime

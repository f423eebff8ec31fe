// A collective is a record that all ranks share. At the start a rank writes its
// addresses there; when all have, the work (copies, sums) lies open as chunks,
// in one group per receiving rank. A rank that waits does its own group's
// chunks, and, where it has to see the whole collective finished, helps with
// the others': nobody sits idle while a late rank's buffers block its own, and
// what is summed is the same, whoever sums it.
#include "runtime/comm/Threads.h"
#include "runtime/ThreadPool.h"
#include "runtime/comm/ThreadOperation.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

namespace shardc::runtime {

struct ThreadWorld::Shared {
  Shared(int ranks, bool spin) : ranks(ranks), spin(spin) {}

  const int ranks;
  const bool spin;

  /// The record of the collective with this number; the first rank that asks
  /// makes it.
  ThreadOperation &operation(uint64_t number) {
    std::lock_guard lock(mutex);
    while (first + open.size() <= number) {
      if (unused.empty()) {
        records.push_back(std::make_unique<ThreadOperation>(ranks));
        unused.push_back(records.back().get());
      }
      open.push_back(unused.back());
      unused.pop_back();
    }
    return *open[number - first];
  }
  /// All ranks have finished `number`.
  void retire(uint64_t number) {
    std::lock_guard lock(mutex);
    ThreadOperation *&slot = open[number - first];
    slot->reset();
    unused.push_back(slot);
    slot = nullptr;
    while (!open.empty() && !open.front()) {
      open.pop_front();
      ++first;
    }
  }

  void abort(int rank, const std::string &reason) {
    std::lock_guard lock(mutex);
    if (aborted)
      return;
    abortReason = "rank " + std::to_string(rank) + " gave up: " + reason;
    aborted = true;
    for (ThreadOperation *operation : open)
      if (operation)
        operation->event.notify();
    barrierEvent.notify();
  }
  /// Throws, but not before every rank has taken its hands off the others'
  /// buffers, which may be freed next.
  [[noreturn]] void throwAborted() {
    awaitIdle();
    std::lock_guard lock(mutex);
    throw Aborted(abortReason);
  }
  void awaitIdle() {
    idleEvent.await(spin, [&] { return working.load() == 0; });
  }
  /// Waits for `condition` or an abort; throws on an abort.
  template <typename Condition>
  void await(EventCount &event, Condition condition) {
    bool holds = false;
    event.await(spin, [&] { return (holds = condition()) || aborted; });
    if (!holds)
      throwAborted();
  }
  /// Brackets work on other ranks' buffers; false after an abort.
  bool enterWork() {
    working.fetch_add(1);
    if (!aborted)
      return true;
    leaveWork();
    return false;
  }
  void leaveWork() {
    if (working.fetch_sub(1) == 1 && aborted)
      idleEvent.notify();
  }
  bool isAborted() const { return aborted; }

  std::atomic<int> atBarrier{0};
  std::atomic<uint32_t> barriersPassed{0};
  EventCount barrierEvent;

private:
  std::mutex mutex;
  std::deque<ThreadOperation *> open; // number `first` is at the front
  uint64_t first = 0;
  std::vector<ThreadOperation *> unused;
  std::vector<std::unique_ptr<ThreadOperation>> records;
  std::atomic<bool> aborted{false};
  std::string abortReason;
  std::atomic<int> working{0}; // ranks inside enterWork .. leaveWork
  EventCount idleEvent;
};

class ThreadWorld::End final : public Communicator {
public:
  End(Shared &shared, int ownRank) : shared(shared), ownRank(ownRank) {}

  int rank() const override { return ownRank; }
  int size() const override { return shared.ranks; }

  Ticket startAllGather(const void *shard, void *gathered,
                        int64_t bytes) override {
    return start({Contribution::Kind::AllGather,
                  static_cast<const std::byte *>(shard),
                  static_cast<std::byte *>(gathered),
                  bytes,
                  plan::UINT8,
                  {}});
  }
  Ticket startReduceScatter(const void *flat, void *shard, int64_t count,
                            plan::DType dtype) override {
    return start({Contribution::Kind::ReduceScatter,
                  static_cast<const std::byte *>(flat),
                  static_cast<std::byte *>(shard),
                  count,
                  dtype,
                  {}});
  }
  Ticket startAllReduce(std::span<const Segment> segments) override {
    return start({Contribution::Kind::AllReduce,
                  nullptr,
                  nullptr,
                  0,
                  plan::INVALID,
                  {segments.begin(), segments.end()}});
  }

  void wait(Ticket ticket, ThreadPool &pool) override {
    ThreadOperation &operation = shared.operation(ticket);
    awaitArrival(operation);
    complete(operation, ownGroup(operation), pool);
  }
  void finish(Ticket ticket, ThreadPool &pool) override {
    ThreadOperation &operation = shared.operation(ticket);
    awaitArrival(operation);
    int groups = operation.groupCount();
    for (int i = 0; i < groups; ++i)
      help(operation, (ownGroup(operation) + i) % groups, pool);
    for (int group = 0; group < groups; ++group)
      awaitGroup(operation, group);
    --unfinished;
    if (operation.finished.fetch_add(1) + 1 == shared.ranks)
      shared.retire(ticket);
  }

  void barrier() override {
    uint32_t passed = shared.barriersPassed.load();
    if (shared.atBarrier.fetch_add(1) + 1 == shared.ranks) {
      shared.atBarrier = 0;
      shared.barriersPassed.fetch_add(1);
      shared.barrierEvent.notify();
    }
    shared.await(shared.barrierEvent,
                 [&] { return shared.barriersPassed.load() != passed; });
  }
  void abort(const std::string &reason) override {
    shared.abort(ownRank, reason);
  }
  void leave() override {
    if (unfinished == 0)
      return;
    abort("it left in the middle of a step");
    shared.awaitIdle();
  }

private:
  Ticket start(Contribution contribution) {
    Ticket ticket = started++;
    ++unfinished;
    ThreadOperation &operation = shared.operation(ticket);
    operation.contributions[ownRank] = std::move(contribution);
    if (operation.arrived.fetch_add(1) + 1 == shared.ranks)
      operation.event.notify();
    return ticket;
  }
  int ownGroup(const ThreadOperation &operation) const {
    return operation.groupCount() == 1 ? 0 : ownRank;
  }
  void awaitArrival(ThreadOperation &operation) {
    shared.await(operation.event,
                 [&] { return operation.arrived.load() == shared.ranks; });
    const Contribution &own = operation.contributions[ownRank];
    for (int rank = 0; rank < shared.ranks; ++rank)
      if (!own.agreesWith(operation.contributions[rank]))
        fail("rank ", ownRank, " and rank ", rank,
             " disagree about a collective: ", own.describe(), " and ",
             operation.contributions[rank].describe());
  }
  /// Does chunks of the group until none is unclaimed.
  void help(ThreadOperation &operation, int groupIndex, ThreadPool &pool) {
    ChunkGroup &group = operation.groups[groupIndex];
    int64_t chunks = operation.chunksOfGroup();
    int64_t left = chunks - group.claimed.load();
    if (left <= 0)
      return;
    if (!shared.enterWork())
      shared.throwAborted();
    auto claim = [&](int64_t, int64_t, int) {
      for (int64_t chunk; !shared.isAborted() &&
                          (chunk = group.claimed.fetch_add(1)) < chunks;) {
        operation.runChunk(groupIndex, chunk);
        if (group.done.fetch_add(1) + 1 == chunks)
          operation.event.notify();
      }
    };
    pool.forRanges(std::min<int64_t>(left, pool.workers()), 1, claim);
    shared.leaveWork();
  }
  void awaitGroup(ThreadOperation &operation, int groupIndex) {
    int64_t chunks = operation.chunksOfGroup();
    ChunkGroup &group = operation.groups[groupIndex];
    shared.await(operation.event, [&] { return group.done.load() == chunks; });
  }
  void complete(ThreadOperation &operation, int group, ThreadPool &pool) {
    help(operation, group, pool);
    awaitGroup(operation, group);
  }

  Shared &shared;
  int ownRank;
  Ticket started = 0;
  int64_t unfinished = 0;
};

ThreadWorld::ThreadWorld(int ranks, bool spin)
    : shared(std::make_unique<Shared>(ranks, spin)) {
  for (int rank = 0; rank < ranks; ++rank)
    ends.push_back(std::make_unique<End>(*shared, rank));
}
ThreadWorld::~ThreadWorld() = default;

Communicator &ThreadWorld::communicator(int rank) { return *ends[rank]; }

} // namespace shardc::runtime

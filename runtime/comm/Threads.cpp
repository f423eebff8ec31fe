// A collective is a record that all ranks share. At the start a rank writes its
// addresses there; when all have, the work (copies, sums) can be claimed as
// chunks, in one group per receiving rank. A rank that waits does its own
// group's chunks, and, where it has to see the whole collective finished, helps
// with the others': nobody is idle while a late rank's buffers block its own,
// and what is summed is the same, whoever sums it.
#include "runtime/comm/Threads.h"
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/comm/ThreadGroup.h"

#include <algorithm>
#include <map>

namespace shardc::runtime {

class ThreadCommunicator : public Communicator, private HostRanks {
public:
  ThreadCommunicator(ThreadGroup &shared, int ownRank, RankSide &side)
      : shared(shared), process(shared.process), ownRank(ownRank), side(side) {}

  int rank() const override { return ownRank; }
  int size() const override { return shared.size; }
  SumOrder sumOrder() const override { return SumOrder::Ranks; }
  HostRanks *hostRanks() override { return this; }
  RankNote &note() override { return side.note; }

  Communicator &group(int64_t stride, int64_t size) override;
  LocalMembers localMembers() const override { return {0, shared.size}; }
  std::shared_ptr<Memory> sharedMemory(const std::string &name,
                                       int64_t bytes) override;
  void helpWith(ThreadPool *pool) override { side.helpers = pool; }

  Ticket startAllGather(const void *shard, void *gathered,
                        int64_t bytes) override;
  Ticket startReduceScatter(const void *flat, void *shard, int64_t count,
                            plan::DType dtype, RunningSum running,
                            ResultReader *reader) override;
  Ticket startAllReduce(std::span<const Segment> segments) override;
  Ticket startAllToAll(std::span<const Parcel> sends,
                       std::span<const Parcel> receives) override;
  void wait(Ticket ticket) override;
  void finish(Ticket ticket) override;
  void barrier() override { shared.barrier(side.note); }
  void abort(const std::string &reason) override {
    process.abort(shared.worldRank(ownRank), reason);
  }
  void throwIfAborted() override {
    if (process.isAborted())
      process.throwAborted();
  }
  void leave() override;

private:
  Ticket start(Contribution contribution);
  int ownGroup(const ThreadOperation &operation) const {
    return operation.groupCount() == 1 ? 0 : ownRank;
  }
  void awaitArrival(ThreadOperation &operation);
  /// Does chunks of the group until none is unclaimed.
  void help(ThreadOperation &operation, int groupIndex);
  void awaitGroup(ThreadOperation &operation, int groupIndex);

  ThreadGroup &shared;
  ThreadProcess &process;
  int ownRank; // in the group
  RankSide &side;
  Ticket started = 0;
  uint64_t memories = 0; // asked for
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<ThreadCommunicator>>
      groups;
};

Communicator &ThreadCommunicator::group(int64_t stride, int64_t size) {
  requireGroup(stride, size, shared.size);
  if (size == shared.size)
    return *this;
  std::unique_ptr<ThreadCommunicator> &end = groups[{stride, size}];
  if (!end) {
    int place = int(ownRank / stride % size);
    end = std::make_unique<ThreadCommunicator>(
        process.group(shared.worldRank(ownRank - place * int(stride)),
                      shared.stride * int(stride), int(size)),
        place, side);
  }
  return *end;
}

std::shared_ptr<Memory>
ThreadCommunicator::sharedMemory(const std::string &name, int64_t bytes) {
  return shared.memory(memories++, name, bytes);
}

Communicator::Ticket ThreadCommunicator::startAllGather(const void *shard,
                                                        void *gathered,
                                                        int64_t bytes) {
  return start(Contribution::allGather(shard, gathered, bytes));
}

Communicator::Ticket ThreadCommunicator::startReduceScatter(
    const void *flat, void *shard, int64_t count, plan::DType dtype,
    RunningSum running, ResultReader *reader) {
  return start(
      Contribution::reduceScatter(flat, shard, count, dtype, running, reader));
}

Communicator::Ticket
ThreadCommunicator::startAllReduce(std::span<const Segment> segments) {
  return start(Contribution::allReduce(segments));
}

Communicator::Ticket
ThreadCommunicator::startAllToAll(std::span<const Parcel> sends,
                                  std::span<const Parcel> receives) {
  return start(Contribution::allToAll(sends, receives));
}

void ThreadCommunicator::wait(Ticket ticket) {
  ThreadOperation &operation = shared.operation(ticket);
  awaitArrival(operation);
  int group = ownGroup(operation);
  help(operation, group);
  awaitGroup(operation, group);
}

void ThreadCommunicator::finish(Ticket ticket) {
  ThreadOperation &operation = shared.operation(ticket);
  awaitArrival(operation);
  int groups = operation.groupCount();
  for (int i = 0; i < groups; ++i)
    help(operation, (ownGroup(operation) + i) % groups);
  for (int group = 0; group < groups; ++group)
    awaitGroup(operation, group);
  --side.unfinished;
  if (operation.finished.fetch_add(1) + 1 == shared.size)
    shared.retire(ticket);
}

void ThreadCommunicator::leave() {
  if (side.unfinished == 0)
    return;
  abort("it left in the middle of a step");
  process.awaitIdle();
}

Communicator::Ticket ThreadCommunicator::start(Contribution contribution) {
  Ticket ticket = started++;
  ++side.unfinished;
  ThreadOperation &operation = shared.operation(ticket);
  operation.contributions[ownRank] = std::move(contribution);
  if (operation.arrived.fetch_add(1) + 1 == shared.size)
    operation.event.notify();
  return ticket;
}

void ThreadCommunicator::awaitArrival(ThreadOperation &operation) {
  process.await(side.note, operation.event,
                [&] { return operation.arrived.load() == shared.size; });
  const Contribution &own = operation.contributions[ownRank];
  for (int rank = 0; rank < shared.size; ++rank)
    if (!own.agreesWith(operation.contributions[rank]))
      fail("rank ", shared.worldRank(ownRank), " and rank ",
           shared.worldRank(rank),
           " disagree about a collective: ", own.describe(), " and ",
           operation.contributions[rank].describe());
  if (own.kind == Contribution::Kind::AllToAll)
    for (int rank = 0; rank < shared.size; ++rank)
      requireParcels(operation.contributions[rank], rank, own, ownRank);
}

void ThreadCommunicator::help(ThreadOperation &operation, int groupIndex) {
  ChunkGroup &group = operation.groups[groupIndex];
  int64_t chunks = operation.chunksOfGroup();
  int64_t left = chunks - group.claimed.load();
  if (left <= 0)
    return;
  if (!process.enterWork())
    process.throwAborted();
  auto claim = [&](int64_t, int64_t, int) {
    for (int64_t chunk; !process.isAborted() &&
                        (chunk = group.claimed.fetch_add(1)) < chunks;) {
      operation.runChunk(groupIndex, chunk);
      if (group.done.fetch_add(1) + 1 == chunks)
        operation.event.notify();
    }
  };
  if (side.helpers)
    side.helpers->forRanges(std::min<int64_t>(left, side.helpers->workers()), 1,
                            claim);
  else
    claim(0, 1, 0);
  process.leaveWork();
}

void ThreadCommunicator::awaitGroup(ThreadOperation &operation,
                                    int groupIndex) {
  int64_t chunks = operation.chunksOfGroup();
  ChunkGroup &group = operation.groups[groupIndex];
  process.await(side.note, operation.event,
                [&] { return group.done.load() == chunks; });
}

namespace {

/// What a rank's groups share.
struct Connection {
  std::shared_ptr<ThreadProcess> world;
  RankSide own;
};
/// Of all ranks.
class ThreadConnection final : Connection, public ThreadCommunicator {
public:
  ThreadConnection(const std::shared_ptr<ThreadProcess> &given, int rank)
      : Connection{given, {given->note(rank)}},
        ThreadCommunicator(world->group(0, 1, world->ranks), rank, own) {}
};

} // namespace

std::unique_ptr<Communicator>
connectThread(std::shared_ptr<ThreadProcess> process, int rank) {
  return std::make_unique<ThreadConnection>(std::move(process), rank);
}

std::unique_ptr<Communicator> memberOfThreads(ThreadGroup &group, int member,
                                              RankSide &side) {
  return std::make_unique<ThreadCommunicator>(group, member, side);
}

} // namespace shardc::runtime

// A rank starts collectives of its groups: those of threads alone as ever, the
// others through what its process shares.
#include "runtime/comm/Processes.h"

#include "runtime/base/ThreadPool.h"
#include "runtime/comm/Threads.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

ProcessRanks::ProcessRanks(
    const Placement &placement, bool spin, std::unique_ptr<Transport> transport,
    Nodes nodes, std::vector<std::string> names,
    std::function<std::string(const std::string &)> firstOf)
    : placement(placement) {
  process = std::make_unique<ThreadProcess>(
      placement.ranks(), spin,
      [this](const std::string &text) { net->giveUp(text); });
  // The driver works on buffers of ranks until it stops.
  process->enterWork();
  net = std::make_unique<Network>(
      std::move(transport), std::move(nodes), std::move(names),
      [this](const std::string &text) { process->abort(text); },
      std::move(firstOf));
  net->onStopped([this] { process->leaveWork(); });
}

ProcessRanks::~ProcessRanks() { net.reset(); }

std::vector<ProcessNotes> ProcessRanks::notes() const { return net->notes(); }

void ProcessRanks::watch(std::chrono::milliseconds interval, PlaceText place) {
  auto own = [this] {
    ProcessNotes mine;
    int begin = placement.process * placement.ranksPerProcess;
    for (int rank = begin; rank < begin + placement.ranksPerProcess; ++rank)
      mine.ranks.push_back(process->note(rank).value());
    return mine;
  };
  net->watch(placement.ranksPerProcess, interval, own, std::move(place));
}

void ProcessRanks::note(int stride, int size) {
  std::lock_guard lock(mutex);
  shapes.emplace(std::pair(stride, size), int(shapes.size()));
}

SpanningGroup &ProcessRanks::group(int base, int stride, int size) {
  std::lock_guard lock(mutex);
  std::unique_ptr<SpanningGroup> &group = groups[{base, stride, size}];
  if (group)
    return *group;
  int shape = shapes.at({stride, size});
  // Groups of one shape are told apart by their first ranks.
  int64_t channel =
      Network::ownChannels +
      (int64_t(shape) * placement.ranks() + base) * Exchange::channelsOfGroup;
  if (channel + Exchange::channelsOfGroup > Transport::maxChannels)
    fail("a run of ", placement.ranks(), " ranks in ", placement.processes,
         " processes has more than ", shape, " kinds of groups, and only ",
         Transport::maxChannels, " channels");
  group = std::make_unique<SpanningGroup>(
      *process, *net, groupSides(placement, *net, base, stride, size),
      Transport::Channel(channel));
  return *group;
}

namespace {

class ProcessCommunicator : public Communicator, private HostRanks {
public:
  ProcessCommunicator(ProcessRanks &ranks, SpanningGroup &shared, int member,
                      RankSide &side)
      : ranks(ranks), shared(shared), process(shared.process), member(member),
        side(side) {}

  int rank() const override { return member; }
  int size() const override { return shared.size(); }
  SumOrder sumOrder() const override { return SumOrder::Ranks; }
  HostRanks *hostRanks() override { return this; }
  RankNote &note() override { return side.note; }
  Communicator &group(int64_t stride, int64_t size) override;

  // HostRanks
  LocalMembers localMembers() const override {
    return {shared.firstMember(), shared.members()};
  }
  std::shared_ptr<Memory> sharedMemory(const std::string &name,
                                       int64_t bytes) override {
    ThreadGroup &here = process.group(shared.worldRank(shared.firstMember()),
                                      shared.sides.stride, shared.members());
    return here.memory(memories++, name, bytes);
  }
  void helpWith(ThreadPool *pool) override { side.helpers = pool; }

  Ticket startAllGather(const void *shard, void *gathered,
                        int64_t bytes) override {
    return start(Contribution::allGather(shard, gathered, bytes));
  }
  Ticket startReduceScatter(const void *flat, void *shard, int64_t count,
                            plan::DType dtype, RunningSum running,
                            ResultReader *reader) override {
    return start(Contribution::reduceScatter(flat, shard, count, dtype, running,
                                             reader));
  }
  Ticket startAllReduce(std::span<const Segment> segments) override {
    return start(Contribution::allReduce(segments));
  }
  Ticket startAllToAll(std::span<const Parcel> sends,
                       std::span<const Parcel> receives) override {
    return start(Contribution::allToAll(sends, receives));
  }
  void wait(Ticket ticket) override;
  void finish(Ticket ticket) override;
  void barrier() override { finish(startBarrier()); }
  void abort(const std::string &reason) override {
    process.abort(shared.worldRank(member), reason);
  }
  void throwIfAborted() override {
    if (process.isAborted())
      process.throwAborted();
  }
  void leave() override;

private:
  Ticket start(Contribution contribution);
  /// Sees to what the member at `place` here gets, unless somebody does.
  void copyFor(int place, SpanningOperation &operation) const;
  void copyGathered(const Contribution &first, const Contribution &to,
                    int receiver) const;

  ProcessRanks &ranks;
  SpanningGroup &shared;
  ThreadProcess &process;
  int member; // of the group
  RankSide &side;
  Ticket started = 0;
  uint64_t memories = 0; // asked for
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Communicator>> groups;
};

Communicator &ProcessCommunicator::group(int64_t stride, int64_t size) {
  requireGroup(stride, size, shared.size());
  if (size == shared.size())
    return *this;
  std::unique_ptr<Communicator> &end = groups[{stride, size}];
  if (!end) {
    int place = int(member / stride % size);
    int base = shared.worldRank(member - place * int(stride));
    int step = shared.sides.stride * int(stride);
    ranks.note(step, int(size));
    if (ranks.isHere(base, step, int(size)))
      end = memberOfThreads(process.group(base, step, int(size)), place, side);
    else
      end = std::make_unique<ProcessCommunicator>(
          ranks, ranks.group(base, step, int(size)), place, side);
  }
  return *end;
}

Communicator::Ticket ProcessCommunicator::start(Contribution contribution) {
  Ticket ticket = started++;
  ++side.unfinished;
  SpanningOperation &operation = shared.operation(ticket);
  operation.contributions[member - shared.firstMember()] =
      std::move(contribution);
  if (operation.arrived.fetch_add(1) + 1 == shared.members())
    shared.start(ticket);
  return ticket;
}

void ProcessCommunicator::copyFor(int place,
                                  SpanningOperation &operation) const {
  SpanningOperation::Copy &copy = operation.copies[place];
  if (copy.claimed.exchange(true))
    return;
  if (!process.enterWork())
    process.throwAborted();
  copyGathered(operation.contributions[0], operation.contributions[place],
               shared.firstMember() + place);
  process.leaveWork();
  copy.done = true;
  operation.event.notify();
}

/// A rank that gathers to memory of its own gets what the process's first
/// member has got.
void ProcessCommunicator::copyGathered(const Contribution &first,
                                       const Contribution &own,
                                       int receiver) const {
  if (first.kind != Contribution::Kind::AllGather ||
      own.destination == first.destination || own.count == 0)
    return;
  auto copy = [&](int64_t begin, int64_t end, int) {
    // A rank's own slice may be what it contributes: nothing writes it.
    int64_t mine = receiver * own.count;
    if (own.source == own.destination + mine) {
      int64_t before = std::min(end, mine), after = mine + own.count;
      if (begin < before)
        std::memcpy(own.destination + begin, first.destination + begin,
                    before - begin);
      begin = std::max(begin, after);
    }
    if (begin < end)
      std::memcpy(own.destination + begin, first.destination + begin,
                  end - begin);
  };
  int64_t bytes = own.count * shared.size();
  if (side.helpers)
    side.helpers->forRanges(bytes, 256 << 10, copy);
  else
    copy(0, bytes, 0);
}

void ProcessCommunicator::wait(Ticket ticket) {
  SpanningOperation &operation = shared.operation(ticket);
  process.await(side.note, operation.event,
                [&] { return operation.hasResults.load(); });
  int place = member - shared.firstMember();
  copyFor(place, operation);
  process.await(side.note, operation.event,
                [&] { return operation.copies[place].done.load(); });
}

void ProcessCommunicator::finish(Ticket ticket) {
  wait(ticket);
  SpanningOperation &operation = shared.operation(ticket);
  // The others may wait for this rank elsewhere.
  for (int place = 0; place < shared.members(); ++place)
    copyFor(place, operation);
  process.await(side.note, operation.event, [&] {
    return operation.isReleased &&
           std::ranges::all_of(operation.copies, [](const auto &copy) {
             return copy.done.load();
           });
  });
  --side.unfinished;
  if (operation.finished.fetch_add(1) + 1 == shared.members())
    shared.retire(ticket);
}

void ProcessCommunicator::leave() {
  if (side.unfinished == 0)
    return;
  abort("it left in the middle of a step");
  process.awaitIdle();
}

/// What a rank's groups share.
struct Connection {
  std::shared_ptr<ProcessRanks> world;
  RankSide own;
};
/// Of all ranks.
class ProcessConnection final : Connection, public ProcessCommunicator {
public:
  ProcessConnection(const std::shared_ptr<ProcessRanks> &given, int rank)
      : Connection{given, {given->threads().note(rank)}},
        ProcessCommunicator(*world, groupOfAll(*world), rank, own) {}

private:
  static SpanningGroup &groupOfAll(ProcessRanks &world) {
    world.note(1, world.placement.ranks());
    return world.group(0, 1, world.placement.ranks());
  }
};

} // namespace

std::unique_ptr<Communicator>
connectProcess(std::shared_ptr<ProcessRanks> ranks, int rank) {
  return std::make_unique<ProcessConnection>(std::move(ranks), rank);
}

} // namespace shardc::runtime

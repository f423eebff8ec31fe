// A group whose ranks are in several processes, as one of these sees it.
#ifndef SHARDC_RUNTIME_COMM_SPANNINGGROUP_H
#define SHARDC_RUNTIME_COMM_SPANNINGGROUP_H

#include "runtime/comm/EventCount.h"
#include "runtime/comm/Exchange.h"
#include "runtime/comm/OperationRecords.h"
#include "runtime/comm/ThreadGroup.h"

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// A collective that has been started by some of this process's members.
struct SpanningOperation {
  explicit SpanningOperation(int members)
      : contributions(members), copies(members) {}

  /// What a member gets of what the first has got. Whoever waits claims it.
  struct Copy {
    std::atomic<bool> claimed{false}, done{false};
  };
  // By member here:
  std::vector<Contribution> contributions;
  std::vector<Copy> copies;
  std::atomic<int> arrived{0}, finished{0};
  std::atomic<bool> hasResults{false}, isReleased{false};
  EventCount event;

  void reset();
};

/// What a run's ranks are in: processes of equally many ranks in a row.
struct Placement {
  int process = 0, processes = 1, ranksPerProcess = 1;
  /// Processes that compute with the processors of this one, it included.
  int sharers = 1;
  int ranks() const { return processes * ranksPerProcess; }
  int processOf(int rank) const { return rank / ranksPerProcess; }
};

/// How the group base + k * stride, 0 <= k < size, lies over them.
GroupSides groupSides(const Placement &placement, const Network &network,
                      int base, int stride, int size);

/// Its members here start collectives; when the last has, the network's driver
/// exchanges with the other processes, one collective after the other.
class SpanningGroup {
public:
  SpanningGroup(ThreadProcess &process, Network &network, GroupSides sides,
                Transport::Channel firstChannel);

  ThreadProcess &process;
  const GroupSides sides;

  int size() const { return sides.size(); }
  int worldRank(int member) const { return sides.worldRank(member); }
  /// Where members here begin, and how many there are.
  int firstMember() const { return sides.ownSide().begin; }
  int members() const { return sides.ownSide().size(); }

  SpanningOperation &operation(uint64_t number) { return records.at(number); }
  void retire(uint64_t number) { records.retire(number); }
  /// Called when all members here have started it.
  void start(uint64_t number);
  void wakeAll() { records.wakeAll(); }

private:
  // On the driver:
  void next();
  void drop(uint64_t number);

  Network &network;
  Transport::Channel firstChannel;
  OperationRecords<SpanningOperation> records;
  std::map<uint64_t, std::unique_ptr<Exchange>> exchanges; // that go on
  std::deque<uint64_t> waiting;
  bool isBusy = false;
};

} // namespace shardc::runtime

#endif

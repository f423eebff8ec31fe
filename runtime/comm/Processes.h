// Collectives between ranks in several processes, each of which has some as
// threads.
#ifndef SHARDC_RUNTIME_COMM_PROCESSES_H
#define SHARDC_RUNTIME_COMM_PROCESSES_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/SpanningGroup.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace shardc::runtime {

/// What the ranks of this process share: their groups, and the network to the
/// others.
class ProcessRanks {
public:
  /// `transport`: between the placement's processes, of which there are several.
  /// `spin`: as EventCount::await says. `names`: what processes are called, by
  /// process. `firstOf`: as Network has it.
  ProcessRanks(const Placement &placement, bool spin,
               std::unique_ptr<Transport> transport, Nodes nodes,
               std::vector<std::string> names,
               std::function<std::string(const std::string &)> firstOf = {});
  ~ProcessRanks();

  const Placement placement;
  ThreadProcess &threads() { return *process; }
  Network &network() { return *net; }

  bool isHere(int base, int stride, int size) const {
    return placement.processOf(base) == placement.process &&
           placement.processOf(base + (size - 1) * stride) == placement.process;
  }
  /// From now on processes tell each other where their ranks are. All call it.
  void watch(std::chrono::milliseconds interval, PlaceText place);
  /// What they have told, by process; empty before watch().
  std::vector<ProcessNotes> notes() const;

  /// Called by every rank for every kind of group, in the same order: processes
  /// tell groups apart by it.
  void note(int stride, int size);
  /// Returns a group that is not all here.
  SpanningGroup &group(int base, int stride, int size);

private:
  std::unique_ptr<ThreadProcess> process;
  std::unique_ptr<Network> net;
  std::mutex mutex;
  std::map<std::pair<int, int>, int> shapes; // in the order of asking
  std::map<std::tuple<int, int, int>, std::unique_ptr<SpanningGroup>> groups;
};

/// A rank's end of the world. Each rank of the process connects once.
std::unique_ptr<Communicator>
connectProcess(std::shared_ptr<ProcessRanks> ranks, int rank);

} // namespace shardc::runtime

#endif

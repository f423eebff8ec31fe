// A world whose ranks are in several processes, some as threads of this one.
#ifndef SHARDC_RUNTIME_LAUNCH_PROCESSWORLD_H
#define SHARDC_RUNTIME_LAUNCH_PROCESSWORLD_H

#include "runtime/comm/Network.h"
#include "runtime/comm/SpanningGroup.h"
#include "runtime/launch/World.h"

#include <mutex>

namespace shardc::runtime {

class ProcessRanks;
class Rendezvous;
class MpiLibrary;

class ProcessWorld final : public World {
public:
  /// `transport`: between the placement's processes, of which there are several.
  /// `rendezvous`: where they met; it stays until the world's end. `mpi`: where
  /// it has begun; the world ends it, on the thread that began it.
  ProcessWorld(const Placement &placement, std::unique_ptr<Transport> transport,
               Nodes nodes, std::shared_ptr<Rendezvous> rendezvous = nullptr,
               std::shared_ptr<MpiLibrary> mpi = nullptr);
  ~ProcessWorld() override;

  int ranks() const override { return placement.ranks(); }
  RankRange localRanks() const override {
    int begin = placement.process * placement.ranksPerProcess;
    return {begin, begin + placement.ranksPerProcess};
  }
  int sharers() const override { return placement.sharers; }
  std::unique_ptr<Communicator> connect(int rank) override;
  void agree(const Facts &facts) override;
  void giveUp(const std::string &reason) override;
  void watch(std::chrono::milliseconds interval, PlaceText place) override;
  bool isStopped(int process) const override;
  std::vector<ProcessNotes> notes() const override;
  std::string abort(const std::string &text) override;
  std::string reasonOfAbort() const override;
  bool hasFailed() const override;
  std::vector<std::string> hosts() const override;
  Traffic traffic() const override;
  std::string text() const override;

private:
  std::string firstReason(const std::string &reason);
  std::string nameOf(int process) const;
  std::vector<std::string> names() const;

  Placement placement;
  int nodes;
  std::mutex mutex;
  std::string first; // reason of the run's end, where there is one
  bool storeIsLost = false;
  std::shared_ptr<Rendezvous> rendezvous;
  std::shared_ptr<MpiLibrary> mpi;
  std::shared_ptr<ProcessRanks> process;
};

} // namespace shardc::runtime

#endif

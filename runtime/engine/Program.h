// A program of the plan is resolved, checked and bound to a device once: no run
// has to look at the plan again.
#ifndef SHARDC_RUNTIME_ENGINE_PROGRAM_H
#define SHARDC_RUNTIME_ENGINE_PROGRAM_H

#include "runtime/engine/RankState.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

class Program {
public:
  /// Resolves, checks and binds every entry. Throws an Error that names the
  /// entry, and the program by `name`.
  Program(RankState &state, const plan::Program &program, const char *name);

  /// Begins a micro-batch.
  void begin(const StepNumbers &numbers);
  /// Returns when those that were begun are done, with the metrics of the last.
  void await();

  /// begin() calls it in a training step's last micro-batch when every gradient
  /// is reduced, before the first optimizer step, unless it is empty.
  std::function<void()> beforeOptimizer;

  /// Returns a metric of the last run, or nothing where it has none of that
  /// name.
  std::optional<double> metric(std::string_view name) const;
  /// Returns whether the last run left parameters and state as they were.
  bool skipped() const { return wasSkipped; }

  /// Each unit has the gradient here that its optimizer step reads.
  std::vector<Tensor> gradients;
  Measurements measured;

private:
  using Clock = std::chrono::steady_clock;
  struct Collective {
    bool last;
    bool isTransfer = false;
    /// Peers read the parameters of this unit. It is -1 for an all-gather of
    /// kept values, whose buffer may be used again behind the wait, and for
    /// shared blocks, whose readers are waited for apart.
    int64_t unit = -1;
    /// Brings what has come into its order, behind the wait.
    std::optional<entry::Copy> arranges = {};
  };
  /// "plan entry NAME (train, forward)"
  std::string placeOf(const plan::Entry &entry) const;
  void findCollectives();
  void makeSlots();
  /// Returns whether this rank runs the entry.
  bool isOwn(const plan::Entry &entry) const;
  void add(int index, const plan::Entry &entry);
  void addCompute(int index, const plan::Entry &entry);
  void push(int index, entry::Any what, bool last);
  /// Throws where an entry works on the pool host.
  void requireOnDevice(const entry::Any &what) const;
  void addCollective(int index, const plan::AllGatherStart &entry);
  void addCollective(int index, const plan::ReduceScatterStart &entry);
  void addCollective(int index, const plan::AllReduceStart &entry);
  void addCollective(int index, const plan::AllGatherUpdatesStart &entry);
  // ResolveMatrices.cpp has these two.
  void addCollective(int index, const plan::GatherMatricesStart &entry);
  void addCollective(int index, const plan::ScatterMatricesStart &entry);
  // ResolveRows.cpp has these three.
  void addCollective(int index, const plan::GatherRowsStart &entry);
  void addCollective(int index, const plan::ReduceRowsStart &entry);
  /// Adds an all-to-all and its wait.
  void addExchange(int index, entry::StartAllToAll start, bool last);
  void addTransfer(int index, const plan::TransferStart &entry);
  void addKeep(int index, const plan::Keep &entry);
  void addWait(int index, uint32_t id);
  void addMetric(int index, const plan::Metric &entry);
  void addDirection(int index, const plan::MatrixDirection &entry);
  /// Notes that parameters or state of a unit change from here on.
  void beginOptimizer(int index, uint32_t unit);
  /// Returns where the loss is when optimizer steps run.
  Tensor lossSlot() const;
  void addOptimizerStep(int index, const plan::OptimizerStep &entry);
  /// Adds a wait until no peer reads a unit's parameters any more.
  void finishGathers(int index, uint32_t unit);
  /// Adds a wait until no peer reads what this rank's optimizer changes of a
  /// unit that lies in a block, unless there was one for it already.
  void awaitReaders(int index, uint32_t unit);

  void addSeconds(Clock::time_point begin);

  RankState &state;
  const plan::Program &program;
  std::vector<bool> onlyAtEnd; // by entry: see runsOnlyAtEnd
  const char *name;
  std::map<uint32_t, Collective> collectives; // by id
  /// Each unit has the all-gathers here that peers may still read its
  /// parameters for.
  std::vector<std::vector<uint32_t>> gathersOf;
  std::unique_ptr<DeviceProgram> onDevice;
  int64_t firstOptimizerStep = -1; // on the device
  std::set<uint32_t> unread;       // units that awaitReaders waited for
  uint32_t nextId = 0;             // of a collective behind the plan's

  /// `slots` has a float64 for each metric, and one for whether the step was
  /// skipped: a run reads all of them back at once.
  struct Slot {
    std::string name;
    bool last;
  };
  std::vector<Slot> metrics;
  int64_t boundMetrics = 0;
  Tensor slots; // of the device
  std::vector<double> values;
  bool wasSkipped = false, hasSteps = false;
  bool ranToEnd = false;
};

} // namespace shardc::runtime

#endif

// A program of the plan on a device: what each of its entries becomes there,
// and runs of it.
#ifndef SHARDC_RUNTIME_ENGINE_PROGRAM_H
#define SHARDC_RUNTIME_ENGINE_PROGRAM_H

#include "runtime/engine/RankState.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Whether an entry runs in the last micro-batch of a step only.
bool runsOnlyAtEnd(const plan::Entry &entry);

class Program {
public:
  /// Resolves, checks and binds every entry. Throws an Error that names the
  /// entry. `name`: of the program, for errors.
  Program(RankState &state, const plan::Program &program, const char *name);

  /// Runs a micro-batch, and reads back its metrics.
  void run(const StepNumbers &numbers);

  /// Called in a training step's last micro-batch when every gradient is
  /// reduced, before the first optimizer step; may be empty.
  std::function<void()> beforeOptimizer;

  /// A metric of the last run; none where it has none of that name.
  std::optional<double> metric(std::string_view name) const;
  /// Whether it left parameters and state as they were.
  bool skipped() const { return wasSkipped; }

  /// By unit: what its optimizer step reads.
  std::vector<Tensor> gradients;
  Measurements measured;

private:
  /// A collective of the program.
  struct Collective {
    bool last;
    /// The unit whose parameters peers read, -1 for none: an all-gather of kept
    /// values reads a buffer that may be used again behind the wait, and who
    /// reads a block is waited for apart.
    int64_t unit = -1;
  };
  void findCollectives();
  void makeSlots();
  void add(int index, const plan::Entry &entry);
  void addCompute(int index, const plan::Entry &entry);
  void push(int index, entry::Any what, bool last);
  void addCollective(int index, const plan::AllGatherStart &entry);
  void addCollective(int index, const plan::ReduceScatterStart &entry);
  void addCollective(int index, const plan::AllReduceStart &entry);
  void addCollective(int index, const plan::AllGatherUpdatesStart &entry);
  void addKeep(int index, const plan::Keep &entry);
  void addWait(int index, uint32_t id);
  void addMetric(int index, const plan::Metric &entry);
  void addOptimizerStep(int index, const plan::OptimizerStep &entry);
  /// That no peer reads a unit's parameters any more.
  void finishGathers(int index, uint32_t unit);
  /// That no peer reads what this rank's optimizer changes in blocks.
  void awaitReaders(int index);

  RankState &state;
  const plan::Program &program;
  std::vector<bool> onlyAtEnd; // by entry: see runsOnlyAtEnd
  const char *name;
  std::map<uint32_t, Collective> collectives; // by id
  /// By unit: all-gathers that peers may still read its parameters for.
  std::vector<std::vector<uint32_t>> gathersOf;
  std::unique_ptr<DeviceProgram> onDevice;
  int64_t firstOptimizerStep = -1; // on the device

  /// What is read back: a float64 for each metric, and whether the step was
  /// skipped.
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

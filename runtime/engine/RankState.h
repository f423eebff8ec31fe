// What the entries of a rank's programs work on, and how they are bound to it.
// Internal to the executor.
#ifndef SHARDC_RUNTIME_ENGINE_RANKSTATE_H
#define SHARDC_RUNTIME_ENGINE_RANKSTATE_H

#include "runtime/base/Memory.h"
#include "runtime/engine/Executor.h"
#include "runtime/engine/SharedSlices.h"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardc::runtime {

/// A bound entry: addresses resolved, shapes checked.
using Task = std::function<void()>;

/// A collective on its way.
struct Started {
  Communicator *communicator;
  Communicator::Ticket ticket;
};

struct RankState {
  RankState(const plan::Plan &plan, const KernelLibrary &library,
            Communicator &communicator, const RankOptions &options);
  ~RankState();

  const plan::Plan &plan;
  const KernelLibrary &library;
  Communicator &communicator;                     // of the world
  std::vector<Communicator *> groups;             // of the plan
  std::vector<ParameterNumbers> parameterNumbers; // by parameter
  const bool accumulates;
  ThreadPool pool;
  std::vector<Memory> pools;
  std::vector<std::byte *> buffers;
  /// The units whose slices lie in blocks that the ranks of a group share.
  SharedSlices shared;
  std::vector<int64_t> allocatedBytes; // by pool, slices in blocks included

  StepNumbers numbers;  // of the micro-batch that runs
  bool skipped = false; // the last run's updates, by a loss or norm not finite
  std::map<std::string, double, std::less<>> reported;
  std::function<void()> beforeOptimizer;
  std::vector<Tensor> gradients; // by unit: what its optimizer step reads
  std::unordered_map<uint32_t, Started> tickets; // by plan id
  /// All-gathers that peers may still read this rank's parameters for, by unit.
  std::vector<std::vector<Started>> openGathers;

  /// Whether the micro-batch that runs ends its step.
  bool endsStep() const {
    return numbers.microBatch + 1 == numbers.microBatches;
  }

  /// Where this rank's slice of a unit's parameters begins in the flat buffer,
  /// and its length, in elements.
  int64_t sliceBegin(const plan::Unit &unit) const;
  int64_t sliceElements(const plan::Unit &unit) const;
  Tensor parameterSlice(const plan::Unit &unit) const;
  /// The same for the part of it that the rank's optimizer updates; empty for a
  /// unit that is not trained.
  int64_t optimizerIndex(const plan::Unit &unit) const;
  int64_t optimizerBegin(const plan::Unit &unit) const;
  int64_t optimizerElements(const plan::Unit &unit) const;
  bool isFirstHolder(const plan::Unit &unit) const;
  /// Its place in parameter_buffer, and its master weights: the same place
  /// where the types are.
  Tensor ownParameters(const plan::Unit &unit) const;
  Tensor masterSlice(const plan::Unit &unit) const;

  const plan::Unit &unit(uint32_t index) const;
  Communicator &group(uint32_t index) const;
  /// Waits until no peer reads the unit's parameters any more.
  void finishGathers(uint32_t unit);
  /// Waits until no peer reads what this rank's optimizer is about to change in
  /// blocks: the ranks of their groups have come here, behind what reads them
  /// (SharedSlices::of).
  void awaitReaders();
  void finishAllGathers();

  /// The tensor with its address. Throws an Error where it leaves its buffer.
  Tensor resolve(const plan::Tensor &tensor, const char *name) const;
  /// A whole buffer as a vector of `elements` elements.
  Tensor vectorOf(uint32_t buffer, int64_t elements, plan::DType dtype,
                  const char *name) const;

private:
  void bindMesh();
  void checkUnits() const;
  void makeBlocks(bool wanted);
  void allocate();

  int64_t shardIndex = 0, optimizerShardIndex = 0; // see plan.Mesh
  std::vector<std::shared_ptr<Memory>> blocks;
  std::vector<std::byte *> blockOf; // by unit; null: not shared
};

/// Whether an entry runs in the last micro-batch of a step only.
bool runsOnlyAtEnd(const plan::Entry &entry);

/// The entries of a program that start collectives, by id.
using Starts = std::unordered_map<uint32_t, const plan::Entry *>;
Starts startsOf(const plan::Program &program);

/// Checks an entry of the program with these starts and binds it. Throws an
/// Error that does not yet name the entry.
Task bindEntry(RankState &state, const Starts &starts,
               const plan::Entry &entry);

} // namespace shardc::runtime

#endif

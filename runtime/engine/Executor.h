// A rank: its pools, allocated once, and its programs, run entry by entry. What
// the numbers of a step are, where data and weights come from and what becomes
// of reported values is the trainer's business.
#ifndef SHARDC_RUNTIME_ENGINE_EXECUTOR_H
#define SHARDC_RUNTIME_ENGINE_EXECUTOR_H

#include "runtime/base/Profile.h"
#include "runtime/base/Tensor.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/comm/Communicator.h"
#include "runtime/cpu/KernelLibrary.h"
#include "runtime/device/StepNumbers.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

struct RankOptions {
  int workers = 1; // threads of this rank, the calling one included
  bool spin =
      false; // see ThreadPool; right where ranks * workers <= usableCores()
  bool profile = false;     // keep Rank::seconds
  bool accumulates = false; // several micro-batches per step: allocates the
                            // pool "accumulation"
  /// Whether slices lie side by side where the ranks share an address space, so
  /// that nothing is copied to gather them (SharedSlices.h). The same for all
  /// ranks; off in tests alone.
  bool shareSlices = true;
  /// By parameter of the plan; empty: the defaults for all.
  std::vector<ParameterNumbers> parameterNumbers;
};

class Rank {
public:
  /// Throws an Error where the plan does not hold together. Allocates and
  /// touches every pool of the plan, and checks and binds every entry. To be
  /// called by the thread that will run the programs. `plan`, `library` and
  /// `communicator` must outlive the rank.
  static std::unique_ptr<Rank> create(const plan::Plan &plan,
                                      const KernelLibrary &library,
                                      Communicator &communicator,
                                      const RankOptions &options);
  ~Rank();

  int rank() const;
  int ranks() const;
  Communicator &communicator();
  ThreadPool &pool();

  /// The bytes of a buffer of the plan.
  std::span<std::byte> buffer(uint32_t id);
  /// First byte of a tensor (buffer + offset).
  void *data(const plan::Tensor &tensor);
  /// The elements of a contiguous tensor of element type T.
  template <typename T> std::span<T> elements(const plan::Tensor &tensor) {
    return {static_cast<T *>(data(tensor)),
            static_cast<size_t>(elementCount(tensor))};
  }
  /// This rank's slice of a unit's parameters (all of them when unit.shards is
  /// 1) as gathered and computed with, and its first element in the unit's flat
  /// buffer. Peers may read it until they have ended the program that they run.
  std::span<std::byte> parameterSlice(const plan::Unit &unit);
  int64_t sliceBegin(const plan::Unit &unit) const;
  int64_t sliceElements(const plan::Unit &unit) const;
  /// The part of it that this rank's optimizer updates, and its values in
  /// unit.master_dtype (part of parameterSlice where that is unit.dtype). Empty
  /// for a unit that is not trained. Ranks that differ only in mesh dims that
  /// the optimizer is not sharded over hold equal ones.
  std::span<std::byte> masterSlice(const plan::Unit &unit);
  int64_t optimizerBegin(const plan::Unit &unit) const;
  int64_t optimizerElements(const plan::Unit &unit) const;
  /// Whether no rank before this one holds the same optimizer slice.
  bool isFirstHolder(const plan::Unit &unit) const;

  /// Runs the program once: a micro-batch of a step. Throws an Error that names
  /// the entry; the caller then aborts the communicator (runRanksAsThreads
  /// does).
  void runTrain(const StepNumbers &numbers);
  void runEval();

  /// Called before the first optimizer step entry of a training step, when
  /// every gradient is reduced; for
  /// --export-gradients. An empty function takes the callback away.
  void setBeforeOptimizer(std::function<void()> callback);
  /// The unit's reduced gradient as this rank's optimizer reads it (elements of
  /// masterSlice, of unit.gradient_dtype), neither clipped nor multiplied by
  /// StepNumbers.gradientFactor yet; valid inside the callback. Empty for a
  /// unit that is not trained.
  std::span<const std::byte> gradientSlice(uint32_t unit);

  /// The value of a report entry in the last run ("loss", "gradient_norm": the
  /// sum of powers).
  std::optional<double> reported(std::string_view name) const;
  /// The norm of the gradients in the last training run, gradientFactor
  /// included, before clipping; none where the run did not end a step.
  std::optional<double> gradientNorm() const;
  /// Whether the last training run left parameters and optimizer state as they
  /// were, on all ranks alike, because the loss or the norm was not finite.
  bool skipped() const;

  /// Bytes allocated by pool, in the order of the plan, a slice in a block that
  /// ranks share included; equal to what the plan says, but 0 for the pool
  /// "accumulation" where the run does not accumulate, and for the pool
  /// "gather" where the ranks read each other's slices in place.
  std::vector<int64_t> allocatedBytes() const;
  const Profile &trainProfile() const;
  /// Keeps an event per entry of the training program from now on, or no more.
  void recordEvents(bool record);
  const std::vector<EntryEvent> &events() const;
  const Profile &evalProfile() const;

private:
  struct State;
  explicit Rank(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace shardc::runtime

#endif

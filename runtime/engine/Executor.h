// A rank has its pools, allocated once, and its programs, which run on a
// device. What the numbers of a step are, where data and weights come from and
// what becomes of metrics is the trainer's business.
#ifndef SHARDC_RUNTIME_ENGINE_EXECUTOR_H
#define SHARDC_RUNTIME_ENGINE_EXECUTOR_H

#include "runtime/base/Profile.h"
#include "runtime/base/Tensor.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/StepNumbers.h"
#include "runtime/engine/Holders.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace shardc::runtime {

struct RankOptions {
  bool profile = false;       // keep seconds
  bool profileIfFree = false; // where the device times entries for free
  bool accumulates = false;   // several micro-batches per step: allocates the
                              // pool "accumulation"
  /// Slices lie side by side where the ranks share an address space, so that
  /// nothing is copied to gather them (SharedSlices.h). It must be the same for
  /// all ranks; only tests turn it off.
  bool shareSlices = true;
  /// There is one for each parameter of the plan, or none at all: every
  /// parameter has the defaults then.
  std::vector<ParameterNumbers> parameterNumbers;
};

/// A slice is elements in a row in the device's memory. That of a unit holds
/// those from element `begin` of its flat buffer on.
struct Slice {
  std::byte *data = nullptr;
  plan::DType dtype = plan::INVALID;
  int64_t begin = 0, elements = 0;
  /// Of float32 that is split: `data` are bf16, and this is what is missing to
  /// them, as base/SplitMaster.h has it.
  std::byte *remainder = nullptr;

  explicit operator bool() const { return elements > 0; }
  int64_t bytes() const;
};

class Rank {
public:
  /// Allocates every pool of the plan, and checks and binds every entry. Throws
  /// an Error where the plan does not hold together. The thread that will run
  /// the programs must call it. `plan` and `communicator` must outlive the
  /// rank.
  static std::unique_ptr<Rank> create(const plan::Plan &plan,
                                      const DeviceFactory &makeDevice,
                                      Communicator &communicator,
                                      const RankOptions &options);
  ~Rank();

  int rank() const;
  int ranks() const;
  Communicator &communicator();
  Device &device();

  /// Return where a contiguous tensor of the plan lies, and all bytes of a
  /// buffer.
  Slice tensor(const plan::Tensor &tensor) const;
  Slice buffer(uint32_t id) const;
  /// Copy elements [begin, begin + elements) of a slice, counted from its
  /// first, between the host and the device.
  void write(const Slice &slice, int64_t begin, int64_t elements,
             const void *values);
  void read(const Slice &slice, int64_t begin, int64_t elements, void *values);

  /// Returns this rank's slice of a unit's parameters (all of them when
  /// unit.shards is 1) as gathered and computed with. Peers may read it until
  /// they have ended the program that they run.
  Slice parameterSlice(const plan::Unit &unit) const;
  /// Returns the part of it that this rank's optimizer updates, in
  /// unit.master_dtype (part of parameterSlice where that is unit.dtype). It is
  /// empty for a unit that is not trained. Ranks that differ only in mesh dims
  /// that the optimizer is not sharded over hold equal ones.
  Slice masterSlice(const plan::Unit &unit) const;
  /// Returns the same part of a state of the optimizer (index of
  /// Optimizer.states).
  /// What the rank has of a parameter's state, by its place in
  /// Optimizer.states; empty where it has nothing of it.
  Slice stateSlice(const plan::Unit &unit, uint32_t parameter, int state) const;
  /// Returns the unit's reduced gradient as this rank's optimizer reads it, of
  /// unit.gradient_dtype, neither clipped nor multiplied by
  /// StepNumbers.gradientFactor yet. It is valid inside the callback of
  /// setBeforeOptimizer, and empty for a unit that is not trained.
  Slice gradientSlice(uint32_t unit) const;
  /// Returns which of the ranks with the same optimizer slice this one is.
  Holders holders(const plan::Unit &unit) const;

  /// Each call runs the program once, for a micro-batch of a step. Throws an
  /// Error that names the entry; the caller then aborts the communicator
  /// (World::run does).
  void runTrain(const StepNumbers &numbers);
  void runEval();
  /// Are runTrain() in two. A device of its own may still be at the micro-batch
  /// when beginTrain() returns: the next one can be loaded and begun. What was
  /// begun is done when awaitTrain() returns; until then there are no metrics.
  void beginTrain(const StepNumbers &numbers);
  void awaitTrain();

  /// The rank calls `callback` before the first optimizer step entry of a
  /// training step, when every gradient is reduced: --export-gradients reads
  /// them there. An empty function takes the callback away.
  void setBeforeOptimizer(std::function<void()> callback);

  /// Returns the value of a metric in the last run: of "loss", or of
  /// "gradient_norm", which is the sum of powers.
  std::optional<double> metric(std::string_view name) const;
  /// Returns the norm of the gradients in the last training run, gradientFactor
  /// included, before clipping. There is none where the run did not end a step.
  std::optional<double> gradientNorm() const;
  /// Returns whether the last training run left parameters and optimizer state
  /// as they were, on all ranks alike, because the loss or the norm was not
  /// finite.
  bool skipped() const;

  /// Returns the bytes that are allocated for each pool, in the order of the
  /// plan, a slice in a block that ranks share included. They are what the plan
  /// says, but 0 for the pool "accumulation" where the run does not accumulate,
  /// and for the pool "gather" where the ranks read each other's slices in
  /// place.
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

// What the entries of a rank's programs work on, and how they are bound to it.
// Internal to the executor.
#ifndef SHARDC_RUNTIME_RANKSTATE_H
#define SHARDC_RUNTIME_RANKSTATE_H

#include "runtime/Executor.h"
#include "runtime/Memory.h"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardc::runtime {

/// A bound entry: addresses resolved, shapes checked.
using Task = std::function<void()>;

struct RankState {
  RankState(const plan::Plan &plan, const KernelLibrary &library,
            Communicator &communicator, const RankOptions &options);
  ~RankState();

  const plan::Plan &plan;
  const KernelLibrary &library;
  Communicator &communicator;
  ThreadPool pool;
  std::vector<Memory> pools;
  std::vector<std::byte *> buffers;

  StepNumbers numbers; // of the step that runs
  std::map<std::string, double, std::less<>> reported;
  std::function<void()> beforeOptimizer;
  std::vector<Tensor> gradients; // by unit: what its optimizer step reads
  std::unordered_map<uint32_t, Communicator::Ticket> tickets; // by plan id
  /// All-gathers that peers may still read this rank's parameters for, by unit.
  std::vector<std::vector<Communicator::Ticket>> openGathers;

  /// Where this rank's slice of a unit begins in the flat buffer, and its
  /// length, in elements.
  int64_t sliceBegin(const plan::Unit &unit) const;
  int64_t sliceElements(const plan::Unit &unit) const;
  const plan::Unit &unit(uint32_t index) const;
  /// Waits until no peer reads the unit's parameters any more.
  void finishGathers(uint32_t unit);
  void finishAllGathers();

  /// The tensor with its address. Throws an Error where it leaves its buffer.
  Tensor resolve(const plan::Tensor &tensor, const char *name) const;
  /// A whole buffer as a vector of `elements` elements.
  Tensor vectorOf(uint32_t buffer, int64_t elements, plan::DType dtype,
                  const char *name) const;
};

/// Checks an entry of the program and binds it. Throws an Error that does not
/// yet name the entry.
Task bindEntry(RankState &state, const plan::Program &program,
               const plan::Entry &entry);

} // namespace shardc::runtime

#endif

// --check N: every Nth step again, by one rank that holds everything, to the
// same bits.
#ifndef SHARDC_RUNTIME_TRAIN_STEPCHECK_H
#define SHARDC_RUNTIME_TRAIN_STEPCHECK_H

#include "runtime/engine/Executor.h"
#include "runtime/train/BatchLoader.h"
#include "runtime/train/StepAgain.h"
#include "runtime/weights/GatheredParameters.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Of one rank; every rank of the run makes one, and calls it alike. The one
/// that leads has a rank of the unsharded program besides, with all parameters,
/// master weights and states, and runs the batches of all ranks one after the
/// other, as micro-batches: by docs/precision.md that is one sum in the same
/// order, so that losses, norms, parameters and states have the same bits.
class StepCheck {
public:
  /// `leads`: it has the unsharded rank, of run.unsharded. Throws an Error where
  /// that does not fit into memory.
  StepCheck(Run &run, Rank &rank, bool leads);

  /// Whether the step, counted from 0, is one of those.
  bool isDue(int64_t step) const { return (step + 1) % every == 0; }
  /// Before the step: takes what all ranks hold.
  void take();
  /// Behind it: runs the step again. Throws an Error that names what differs
  /// first: the loss, the norm, or a parameter or state and its element, with
  /// both values. `labelWeight`: of all ranks and micro-batches.
  void compare(const PastStep &step, const StepOutcome &outcome,
               double labelWeight);

private:
  using Values = GatheredParameters::Values;
  /// What ranks hold: master weights, then each state of the optimizer.
  struct Kind {
    Values values;
    int state = 0;
  };
  std::vector<Kind> kinds() const;
  /// Whether there are such values of a parameter.
  bool has(const Kind &kind, int parameter) const;
  /// "parameter layers.0.weight", "state exp_avg of layers.0.weight".
  std::string nameOf(const Kind &kind, int parameter) const;
  // Of the unsharded rank.
  const plan::Unit &unitOf(int parameter) const;
  Slice sliceOf(const Kind &kind, int parameter) const;
  double lossScale(const Batch &batch, double labelWeight,
                   const StepOutcome &outcome) const;
  void runAgain(const PastStep &step, const StepOutcome &outcome,
                double labelWeight);
  void compareFigures(const StepOutcome &outcome) const;
  void compareValues(const Kind &kind, const GatheredParameters &gathered);
  [[noreturn]] void differ(const std::string &what) const;

  Run &run;
  Rank &rank;
  const plan::Plan &plan;      // of all ranks
  const plan::Plan &unsharded; // the same model's, of one
  const int64_t every;
  // Of the one that leads:
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Rank> whole;
  std::unique_ptr<BatchLoader> loader;
  int64_t step = 0; // that is compared
};

} // namespace shardc::runtime

#endif

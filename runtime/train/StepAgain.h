// A step whose loss or norm is not finite, run again to find what made it so.
#ifndef SHARDC_RUNTIME_TRAIN_STEPAGAIN_H
#define SHARDC_RUNTIME_TRAIN_STEPAGAIN_H

#include "runtime/train/BatchLoader.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/Trainer.h"

#include <functional>
#include <optional>

namespace shardc::runtime {

/// What a step has come to.
struct StepOutcome {
  double loss, gradientNorm; // without the loss scale; NaN where it has no norm
  float lossScale;           // in the step
  bool skipped;
};

/// The step as it was.
struct PastStep {
  StepNumbers numbers;
  int64_t number; // of the run's steps, from 0
  Cursor begin;   // in the samples
  /// That of a micro-batch, for BatchLoader::load.
  std::function<double(int64_t microBatch)> lossScale;
};

/// Throws an Error for a loss or a norm that is not finite in a step that was
/// not skipped for it, and after twenty steps in a row that were skipped at the
/// smallest loss scale.
void requireFinite(Run &run, Rank &rank, BatchLoader &loader,
                   const LossScaler &scaler, const StepOutcome &outcome,
                   const PastStep &step);

/// Runs it, whose optimizer has written nothing, with every entry's results checked, on all ranks. Throws an Error
/// that begins with `what`, and names the first entry that makes a number which
/// is not finite, its ONNX nodes, this rank and its samples; or says that there
/// is none.
[[noreturn]] void failInStep(Run &run, Rank &rank, BatchLoader &loader,
                             PastStep step, const std::string &what);

} // namespace shardc::runtime

#endif

// A step whose loss or norm is not finite, run again to find what made it so.
#ifndef SHARDC_RUNTIME_TRAIN_STEPAGAIN_H
#define SHARDC_RUNTIME_TRAIN_STEPAGAIN_H

#include "runtime/train/BatchLoader.h"
#include "runtime/train/Trainer.h"

#include <functional>

namespace shardc::runtime {

/// The step as it was: its optimizer has written nothing.
struct PastStep {
  StepNumbers numbers;
  int64_t number; // of the run's steps, from 0
  Cursor begin;   // in the samples
  /// That of a micro-batch, for BatchLoader::load.
  std::function<double(int64_t microBatch)> lossScale;
};

/// Runs it with every entry's results checked, on all ranks. Throws an Error
/// that begins with `what`, and names the first entry that makes a number which
/// is not finite, its ONNX nodes, this rank and its samples; or says that there
/// is none.
[[noreturn]] void failInStep(Run &run, Rank &rank, BatchLoader &loader,
                             PastStep step, const std::string &what);

} // namespace shardc::runtime

#endif

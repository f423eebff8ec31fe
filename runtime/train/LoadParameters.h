// What the parameters of a run are before its first step, and behind its last.
#ifndef SHARDC_RUNTIME_TRAIN_LOADPARAMETERS_H
#define SHARDC_RUNTIME_TRAIN_LOADPARAMETERS_H

#include "runtime/train/Trainer.h"

namespace shardc::runtime {

/// Takes a rank's part of the initial values, or of what the run goes on from,
/// optimizer state included.
void loadParameters(const Run &run, Rank &rank);

/// Takes a rank's part of the parameters that were saved behind that step of the
/// run.
void loadSaved(const Run &run, int64_t step, Rank &rank);

} // namespace shardc::runtime

#endif

// What a run leaves behind: gradients of its first step, trained parameters.
#ifndef SHARDC_RUNTIME_TRAIN_EXPORTS_H
#define SHARDC_RUNTIME_TRAIN_EXPORTS_H

#include "runtime/engine/Executor.h"
#include "runtime/train/Trainer.h"

namespace shardc::runtime {

/// Both are called by all ranks together; the leader writes.

/// `factor`: what gradients are still to be multiplied by.
void exportGradients(Run &run, Rank &rank, double factor);
/// Throws an Error for what cannot be written, once the others are.
void exportParameters(Run &run, Rank &rank);

} // namespace shardc::runtime

#endif

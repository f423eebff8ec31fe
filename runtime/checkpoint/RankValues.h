// What a run's ranks hold, filled from a source of parameters and read as one.
#ifndef SHARDC_RUNTIME_CHECKPOINT_RANKVALUES_H
#define SHARDC_RUNTIME_CHECKPOINT_RANKVALUES_H

#include "runtime/Executor.h"
#include "runtime/checkpoint/ShardedParameters.h"

#include <span>

namespace shardc::runtime {

/// Fills the rank's slices of all units: what it computes with, and the master
/// weights of its optimizer slice. The former are the master's values rounded,
/// as the optimizer writes them later. For units that are not trained there is
/// no master: their values are rounded once.
void readInitialValues(const plan::Plan &plan, Rank &rank,
                       const ParameterSource &source);

/// The parameters as trained: master weights of the ranks of this process, all
/// that the unit has; parameters that are not trained from `initial`. The ranks
/// must stay as they are while it is read.
ShardedParameters trainedParameters(const plan::Plan &plan,
                                    std::span<Rank *const> ranks,
                                    const ParameterSource &initial);
/// The gradients that the optimizer is about to read: Rank::gradientSlice of
/// all ranks, StepNumbers::gradientFactor not included. For trained parameters
/// only.
ShardedParameters summedGradients(const plan::Plan &plan,
                                  std::span<Rank *const> ranks);

} // namespace shardc::runtime

#endif

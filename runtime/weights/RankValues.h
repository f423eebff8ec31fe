// What a rank holds, filled from a source of parameters.
#ifndef SHARDC_RUNTIME_WEIGHTS_RANKVALUES_H
#define SHARDC_RUNTIME_WEIGHTS_RANKVALUES_H

#include "runtime/engine/Executor.h"
#include "runtime/weights/ParameterSource.h"

namespace shardc::runtime {

/// Fills the rank's slices of all units: what it computes with, and the master
/// weights of its optimizer slice. The former are the master's values rounded,
/// as the optimizer writes them later. For units that are not trained there is
/// no master: their values are rounded once.
void readInitialValues(const plan::Plan &plan, Rank &rank,
                       const ParameterSource &source);

/// Fills one slice of a unit's flat buffer.
void readSliceValues(const plan::Plan &plan, const plan::Unit &unit, Rank &rank,
                     const Slice &slice, const ParameterSource &source);

} // namespace shardc::runtime

#endif

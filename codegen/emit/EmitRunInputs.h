// What a plan says of the inputs that a run fills with numbers of its own.
#ifndef SHARDC_CODEGEN_EMIT_EMITRUNINPUTS_H
#define SHARDC_CODEGEN_EMIT_EMITRUNINPUTS_H

#include "codegen/emit/EmitEntries.h"

namespace shardc {

/// Fills in where the run writes the loss scale, what ops draw from
/// (nn-place-draws describes the sites in the module) or the weights of running
/// statistics (nn-expand-batch-norms). False for a graph input.
bool emitRunInput(step::InputOp input, const PlanIndices &indices,
                  plan::Plan &plan);

} // namespace shardc

#endif

// A run checks the integers of its inputs: an input may hold those that all its
// uses as positions allow.
#ifndef SHARDC_CODEGEN_LOWER_INPUTBOUNDS_H
#define SHARDC_CODEGEN_LOWER_INPUTBOUNDS_H

#include "frontend/nn/NN.h"

namespace shardc {

/// Returns the range in which `value`, and what reshape, slice, transpose and
/// broadcast make of it, stays inside everything that it indexes: rows of
/// embeddings, classes of losses, dims of gathers. Returns nothing where it
/// indexes nothing.
std::optional<nn::PositionRange> positionsRange(mlir::Value value);

} // namespace shardc

#endif

// What nn-sum-over-ranks is told of a function: attributes of its sums over
// samples (SampleSums.h).
#ifndef SHARDC_PASSES_ANALYSES_MARKEDSUMS_H
#define SHARDC_PASSES_ANALYSES_MARKEDSUMS_H

#include "passes/analyses/SampleSums.h"

namespace shardc {

/// By the function alone, which does not tell what a larger batch would make of
/// it: what one process has is not known.
void markSums(mlir::func::FuncOp function, const SampleSums &found);

/// By the same function with batches of two and of four times the size: these
/// tell which numbers are the batch's, and with one sample dims do not tell where
/// it is. What is not found in `function` by node and kind of op is lost.
void markSums(mlir::func::FuncOp function, const SampleSums &doubled,
              const SampleSums &fourfold, int64_t ranks);

} // namespace shardc

#endif

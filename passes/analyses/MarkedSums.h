// What nn-sum-over-ranks is told of a function: attributes of its sums over
// samples (SampleSums.h).
#ifndef SHARDC_PASSES_ANALYSES_MARKEDSUMS_H
#define SHARDC_PASSES_ANALYSES_MARKEDSUMS_H

#include "passes/analyses/SampleSums.h"

namespace shardc {

/// By the function alone, whose numbers are guessed to be the batch's or not.
void markSums(mlir::func::FuncOp function, const SampleSums &found,
              int64_t ranks);

/// By the same function with batches of two and of four times the size: with one
/// sample, dims do not tell where it is. What is not found in `function` by
/// name and place is lost.
void markSums(mlir::func::FuncOp function, const SampleSums &doubled,
              const SampleSums &fourfold, int64_t ranks);

} // namespace shardc

#endif

// Probabilities where a loss takes logits.
#ifndef SHARDC_PASSES_LOSS_PROBABILITIES_H
#define SHARDC_PASSES_LOSS_PROBABILITIES_H

#include "passes/options/LossOption.h"

#include "mlir/IR/Value.h"

namespace shardc {

/// What made the output of a loss of logits that applies the same again: Softmax
/// before a cross entropy, Sigmoid before a binary one. Empty where it holds
/// logits, or logarithms of probabilities, which a Softmax leaves as they are.
llvm::StringRef appliedBeforeLoss(const LossOption &option, mlir::Value output);

} // namespace shardc

#endif

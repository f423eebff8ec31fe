// Looks behind what moves elements.
#include "passes/loss/Probabilities.h"
#include "frontend/nn/NN.h"

using namespace mlir;

namespace shardc {

StringRef appliedBeforeLoss(const LossOption &option, Value output) {
  Operation *op = output.getDefiningOp();
  while (op && (op->hasTrait<nn::IsView>() || isa<nn::CastOp>(op)))
    op = op->getOperand(0).getDefiningOp();
  StringRef kind = option.kind->name;
  if (isa_and_nonnull<nn::SoftmaxOp>(op))
    return kind == "cross_entropy" || kind == "soft_cross_entropy" ? "Softmax"
                                                                   : "";
  if (isa_and_nonnull<nn::SigmoidOp>(op))
    return kind == "binary_cross_entropy" ? "Sigmoid" : "";
  return "";
}

} // namespace shardc

// Which op belongs to which class.
#include "passes/analyses/OpClasses.h"

#include "frontend/nn/NN.h"

using namespace mlir;

bool shardc::hasNoKernel(Operation *op) {
  return isa<nn::NNDialect>(op->getDialect()) && !isa<nn::KernelBody>(op) &&
         !op->hasTrait<nn::MixedTypes>();
}

StringRef shardc::classOf(Operation *op) {
  if (!isa<nn::NNDialect>(op->getDialect()) || op->hasTrait<nn::IsView>() ||
      op->hasTrait<nn::IsLoss>())
    return "";
  // Of moves, those by indices are calls.
  if (op->hasTrait<nn::IsMove>())
    return hasNoKernel(op) ? "embedding" : "movement";
  if (op->hasTrait<nn::IsNorm>())
    return "norm";
  if (op->hasTrait<nn::IsSoftmax>())
    return "softmax";
  if (op->hasTrait<nn::IsProduct>())
    return "product";
  if (isa<nn::AttentionOp>(op))
    return "attention";
  if (isa<nn::RopeOp>(op))
    return "rope";
  if (op->hasTrait<nn::IsActivation>())
    return "activation";
  if (op->hasTrait<nn::IsReduction>())
    return "reduction";
  if (isa<nn::CastOp>(op))
    return "cast";
  if (op->hasTrait<OpTrait::Elementwise>())
    return "elementwise";
  return "";
}

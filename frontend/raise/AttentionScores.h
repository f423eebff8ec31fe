// The scores of an attention that a file has written out: what stands between a
// product and its softmax.
#ifndef SHARDC_FRONTEND_RAISE_ATTENTIONSCORES_H
#define SHARDC_FRONTEND_RAISE_ATTENTIONSCORES_H

#include "frontend/raise/Mask.h"

namespace shardc::raise {

/// x of x * c or x / c, and behind a cast between float types.
mlir::Value behindScaleOrCast(mlir::Operation *op);

/// Whether the scores' product lies behind `value`, through what may stand
/// between it and the softmax.
bool leadsToProduct(mlir::Value value, unsigned depth = 16);

/// The softmax of which a value is all but the last column, and what the scores
/// have as that: a sink. Null where it is none.
struct WithSink {
  nn::SoftmaxOp softmax;
  mlir::Value scores, sink;

  static WithSink of(mlir::Value value);
};

/// The scores: softmax input = capped(scale * product) + mask.
struct ScoresChain {
  nn::MatMulOp product;
  double scale = 1, softcap = 0;
  MaskTerms mask;
  /// Views between the product and the softmax, nearest to the softmax first.
  llvm::SmallVector<mlir::Operation *> path;
  /// What is neither, where the walk does not come to a product.
  mlir::Value misfit;

  bool walk(mlir::Value value);
};

} // namespace shardc::raise

#endif

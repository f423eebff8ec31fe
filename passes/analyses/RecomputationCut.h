// What to compute again at a price, as a minimum cut.
#ifndef SHARDC_PASSES_ANALYSES_RECOMPUTATIONCUT_H
#define SHARDC_PASSES_ANALYSES_RECOMPUTATIONCUT_H

#include "passes/analyses/MinCut.h"
#include "passes/analyses/RecomputationTime.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc {

/// A network of ops that may run again and of the values between them. It is
/// built once and cut at many prices.
class RecomputationCut {
public:
  /// `needed`: what backward reads; `isFree`: what is there in any case.
  RecomputationCut(const OpSet &candidates, llvm::ArrayRef<mlir::Value> needed,
                   llvm::function_ref<bool(mlir::Value)> isFree,
                   RecomputationTime time);

  /// The candidates that are better run again, once for all that reads them,
  /// than their results kept, when a second costs `bytesPerSecond`.
  llvm::DenseSet<mlir::Operation *> at(double bytesPerSecond);

private:
  struct OpNode {
    mlir::Operation *op;
    int64_t node, edge;
    double seconds;
  };
  FlowNetwork network;
  int64_t source, sink;
  llvm::SmallVector<OpNode> ops;
};

} // namespace shardc

#endif

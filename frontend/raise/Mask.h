// Attention masks: an expression of additive and boolean masks, taken apart
// into nn.attention's causal, key_mask and bias.
#ifndef SHARDC_FRONTEND_RAISE_MASK_H
#define SHARDC_FRONTEND_RAISE_MASK_H

#include "frontend/raise/Match.h"

#include <map>
#include <vector>

namespace shardc::raise {

/// One summand of the scores (`factor` * value), or one condition for a key to
/// be seen (`value`, or its negation).
struct MaskTerm {
  /// The term in the shape of the scores [batch..., Sq, Sk].
  View view;
  bool boolean = false;
  bool negated = false;
  double factor = 1;
};

/// A mask, taken apart.
struct MaskTerms {
  llvm::SmallVector<MaskTerm, 4> terms;

  /// Adds a summand of the scores. `path` are the view ops between `value` and
  /// the scores, nearest to the scores first. False where a part cannot be
  /// brought to the shape of the scores.
  bool addFloat(mlir::Value value, double factor,
                llvm::SmallVector<mlir::Operation *> path);
  /// Adds a condition for a key to be seen.
  bool addCondition(mlir::Value value, bool negated,
                    llvm::SmallVector<mlir::Operation *> path);

  /// Values looked at so far.
  unsigned steps = 0;
};

/// Below it a finite summand hides a key: exporters write -1e4, -1e9, the
/// smallest float or -inf.
inline constexpr double hiddenBelow = -1e4;

/// The dims of the scores, each as the sizes of its factors.
struct ScoreDims {
  llvm::SmallVector<int64_t> batch, heads;
  int64_t queries, keys;
};

/// What nn.attention takes.
struct MaskOperands {
  bool causal = false;
  mlir::Value keyMask; // i1 [B, Sk]
  mlir::Value bias;    // [B or 1, H or 1, Sq or 1, Sk]
};

/// Whether gradients flow through `value` to a trainable parameter;
/// nn.attention has none for its bias.
bool needsGradient(mlir::Value value);

/// What a constant term says. All layers share a mask, so verdicts are kept: by
/// constant and by how it is read.
struct MaskVerdict {
  bool causal = false;
  bool rest = false; // something is left to add
  // With `rest` after causal: the numbers of the last query hold for all
  // queries that see the key.
  bool perKey = false;
};
using MaskCache =
    std::map<std::pair<const void *, std::vector<int64_t>>, MaskVerdict>;

/// Builds the operands. The batch dims of each term's view must be refined to
/// `dims` (batch and heads one after the other).
MaskOperands emitMask(mlir::OpBuilder &builder, mlir::Location location,
                      llvm::ArrayRef<MaskTerm> terms, const ScoreDims &dims,
                      mlir::Type elementType, MaskCache &cache);

} // namespace shardc::raise

#endif

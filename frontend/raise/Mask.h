// Attention masks: an expression of additive and boolean masks, taken apart
// into nn.attention's window (causal, left, right), key_mask and bias.
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

/// How many keys before and behind its own a query sees, -1: all.
struct KeyWindow {
  int64_t left = -1, right = -1;

  static KeyWindow of(nn::AttentionOp op) {
    return {int64_t(op.getLeft()), op.getCausal() ? 0 : int64_t(op.getRight())};
  }
  bool hidesSome() const { return left >= 0 || right >= 0; }
  bool isCausal() const { return right == 0; }
  /// Whether a key so far behind a query's own is seen.
  bool sees(int64_t distance) const {
    return (left < 0 || -distance <= left) && (right < 0 || distance <= right);
  }
  /// Hides what either hides.
  void narrow(const KeyWindow &other);
};

/// What an nn.attention is built of: its operands, the last three of them
/// optional, and what it does to scores.
struct AttentionParts {
  mlir::Value query, key, value, bias, keyMask, sinks;
  double scale = 1, softcap = 0;
  KeyWindow window;
  /// Of the dropout of its probabilities; null: they are all kept.
  mlir::FloatAttr rate;
  mlir::IntegerAttr site;
};
/// Its log_sum_exp is of the arithmetic's type.
nn::AttentionOp createAttention(mlir::OpBuilder &builder,
                                mlir::Location location,
                                const AttentionParts &parts);

/// What nn.attention takes.
struct MaskOperands {
  KeyWindow window;
  mlir::Value keyMask; // i1 [B, Sk]
  mlir::Value bias;    // [B or 1, H or 1, Sq or 1, Sk]
};

/// What a constant term says. All layers share a mask, so verdicts are kept: by
/// constant and by how it is read.
struct MaskVerdict {
  KeyWindow window;
  bool rest = false; // something is left to add
  // With `rest` within the window: all queries that see a key have the same
  // number for it.
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

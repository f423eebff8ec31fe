// The raising patterns, one family per target op. Every pattern matches by
// meaning and leaves what it does not recognise as it is: plain nn ops always
// work.
#ifndef SHARDC_FRONTEND_RAISE_RAISE_H
#define SHARDC_FRONTEND_RAISE_RAISE_H

#include "frontend/raise/Mask.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace shardc::raise {

/// matmul with a parameter -> nn.linear, with bias.
void populateLinearPatterns(mlir::RewritePatternSet &patterns);
/// layer_norm, rms_norm, softmax and log_softmax from their arithmetic.
void populateNormalizationPatterns(mlir::RewritePatternSet &patterns);
/// gelu, silu and sigmoid from their arithmetic.
void populateActivationPatterns(mlir::RewritePatternSet &patterns);
/// x cos + rotate(x) sin -> nn.rope.
void populateRopePatterns(mlir::RewritePatternSet &patterns);
/// softmax(q k^T) v -> nn.attention; masks -> causal, key_mask and bias.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns,
                               MaskCache &cache);
/// Heads that views repeat, of attentions that the file has as one op.
void populateAttentionHeadPatterns(mlir::RewritePatternSet &patterns);
/// Takes the masks of such attentions apart.
void classifyAttentionMasks(mlir::func::FuncOp function, MaskCache &cache);
/// Negative log likelihood -> nn.cross_entropy; linear + cross_entropy ->
/// nn.linear_cross_entropy.
void populateLossPatterns(mlir::RewritePatternSet &patterns);
void populateFusedLossPatterns(mlir::RewritePatternSet &patterns);
/// Rows of a parameter at run-time ids -> nn.embedding; gathers at constant
/// positions -> slices.
void populateIndexingPatterns(mlir::RewritePatternSet &patterns);
/// Chains of views -> the shortest chain.
void populateViewPatterns(mlir::RewritePatternSet &patterns);
/// Moves transposes down and slices up, so that they meet and cancel.
void populateMotionPatterns(mlir::RewritePatternSet &patterns);

/// Patterns that never match, and say of what is left why nothing else did.
void populateMissPatterns(mlir::RewritePatternSet &patterns);

/// Writes out the #nn.strided constants that are left: masks that are neither
/// causal nor one of keys. An error where one is too large for that.
llvm::LogicalResult writeOutConstants(mlir::func::FuncOp function);

/// Base of the angles in RoFormer (arXiv:2104.09864), and of most models since.
constexpr int64_t usualRotaryBase = 10000;
/// Gives buffers that hold the cosines or sines of nn.rope their `init`:
/// rotary_cos or rotary_sin:BASE,HEAD_DIM,PAIRS (docs/architecture.md, "Initial
/// values").
void describeRotaryTables(mlir::ModuleOp module);

} // namespace shardc::raise

#endif

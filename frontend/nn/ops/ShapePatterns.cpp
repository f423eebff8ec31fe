// Canonicalization that spares zeros: the gradients of a tensor's slices, each
// padded and all added, become one concat; the rows of a table's gradient are
// added to what else is one.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace shardc::nn;

namespace {

/// pad(a) + pad(b) is pad(concat(a, b)) where a ends along one dim where b
/// begins, and their places agree along the others. (Up to the sign of zeros.)
struct JoinAdjacentPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp add,
                                PatternRewriter &rewriter) const override {
    auto first = add.getLhs().getDefiningOp<PadOp>();
    auto second = add.getRhs().getDefiningOp<PadOp>();
    if (!first || !second || first == second || !first->hasOneUse() ||
        !second->hasOneUse())
      return failure();
    for (auto [before, after] :
         {std::pair(first, second), std::pair(second, first)})
      if (std::optional<int64_t> axis = adjacentAlong(before, after)) {
        replace(add, before, after, *axis, rewriter);
        return success();
      }
    return failure();
  }

private:
  /// The one dim along which `after` begins where `before` ends.
  static std::optional<int64_t> adjacentAlong(PadOp before, PadOp after) {
    std::optional<int64_t> axis;
    for (int64_t dim = 0; dim < tensorType(before).getRank(); ++dim) {
      if (before.getInterior()[dim] != 0 || after.getInterior()[dim] != 0)
        return std::nullopt;
      if (before.getLow()[dim] == after.getLow()[dim] &&
          before.getHigh()[dim] == after.getHigh()[dim])
        continue;
      const int64_t end =
          before.getLow()[dim] + shapeOf(before.getInput())[dim];
      if (axis || end != after.getLow()[dim])
        return std::nullopt;
      axis = dim;
    }
    return axis;
  }

  static void replace(AddOp add, PadOp before, PadOp after, int64_t axis,
                      PatternRewriter &rewriter) {
    SmallVector<int64_t> shape(shapeOf(before.getInput()));
    shape[axis] += shapeOf(after.getInput())[axis];
    SmallVector<int64_t> high(before.getHigh());
    high[axis] = after.getHigh()[axis];
    Value joined =
        ConcatOp::create(rewriter, add.getLoc(), tensorType(add).clone(shape),
                         ValueRange{before.getInput(), after.getInput()}, axis);
    rewriter.replaceOpWithNewOp<PadOp>(add, add.getType(), joined,
                                       before.getLow(), high,
                                       before.getInterior());
  }
};

/// concat(concat(a, b), c) is concat(a, b, c) along one axis.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp concat,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : concat.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == concat.getAxis() && inner->hasOneUse())
        llvm::append_range(inputs, inner.getInputs());
      else
        inputs.push_back(input);
    }
    if (inputs.size() == concat.getInputs().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(concat, concat.getType(), inputs,
                                          concat.getAxis());
    return success();
  }
};

/// x + embedding_grad(g, ids) adds the rows onto x: no table of zeros, and where
/// x is read here alone no second table. (The rows are added to x one by one,
/// instead of their sum.)
struct AddRowsOntoGradient : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp add,
                                PatternRewriter &rewriter) const override {
    // The later one of two, onto the other.
    EmbeddingGradOp rows;
    Value base;
    for (auto [value, other] : {std::pair(add.getLhs(), add.getRhs()),
                                std::pair(add.getRhs(), add.getLhs())}) {
      auto grad = value.getDefiningOp<EmbeddingGradOp>();
      if (!grad || grad.getBase() || !grad->hasOneUse() || value == other ||
          (rows && grad->isBeforeInBlock(rows)))
        continue;
      rows = grad;
      base = other;
    }
    if (!rows)
      return failure();
    rewriter.replaceOpWithNewOp<EmbeddingGradOp>(
        add, add.getType(), rows.getGradient(), rows.getIds(), base);
    return success();
  }
};

} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<JoinAdjacentPads, AddRowsOntoGradient>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<FlattenConcat>(context);
}

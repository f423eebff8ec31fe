// Cross entropy: the head that feeds it is fused with it, so that the logits
// never exist for the whole batch.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// cross_entropy(linear(x, w)) -> linear_cross_entropy(x, w), with views of the
// rows between them.
struct FuseHead : OpRewritePattern<nn::CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyOp op,
                                PatternRewriter &rewriter) const override {
    View view = View::of(op.getLogits());
    auto linear = view.base().getDefiningOp<nn::LinearOp>();
    if (!linear || view.hasBroadcast() || !view.isReshape() ||
        view.dims().back() != view.baseDims().back())
      return failure();
    // With a second user the logits exist anyway.
    for (Operation *user = linear; user != op;
         user = *user->getResult(0).user_begin())
      if (!user->hasOneUse())
        return failure();
    // Rows in the shape of the labels: `shift` goes along their last dim.
    SmallVector<int64_t> shape(shapeOf(op.getLogits()));
    shape.back() = shapeOf(linear.getInput()).back();
    Value input = linear.getInput();
    if (shapeOf(input) != ArrayRef(shape))
      input = nn::ReshapeOp::create(rewriter, op.getLoc(),
                                    withShape(input, shape), input);
    rewriter.replaceOpWithNewOp<nn::LinearCrossEntropyOp>(
        op, op.getLoss().getType(), input, linear.getWeight(), linear.getBias(),
        op.getLabels(), op.getScale(), op.getIgnoreIndexAttr(),
        op.getShiftAttr(), linear.getTransposeWeightAttr());
    return success();
  }
};

} // namespace

void raise::populateFusedLossPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseHead>(patterns.getContext());
}

// Chains of reshapes, transposes and broadcasts -> the shortest chain that does
// the same.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

struct ShortenViewChain : RewritePattern {
  ShortenViewChain(MLIRContext *context, StringRef root)
      : RewritePattern(root, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    // A chain of one op that changes the shape, most of what there is, can only
    // become shorter by a transpose that is none.
    if (!isViewOp(op->getOperand(0).getDefiningOp()) &&
        !isa<nn::TransposeOp>(op) &&
        op->getOperand(0).getType() != result.getType())
      return failure();
    View view = View::of(result);
    unsigned length = 0;
    for (Value value = result; value != view.base();
         value = value.getDefiningOp()->getOperand(0))
      ++length;
    unsigned cost = view.emitCost(view.dims());
    // A transpose that moves only dims of size 1 is a reshape.
    bool degenerate = length == 1 && cost == 1 && isa<nn::TransposeOp>(op) &&
                      view.isReshape();
    if (cost >= length && !degenerate)
      return failure();
    rewriter.replaceOp(op, view.emit(rewriter, op->getLoc()));
    return success();
  }
};

// A reshape of a constant is a constant.
struct FoldReshapeOfConstant : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto constant = op.getInput().getDefiningOp<nn::ConstantOp>();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    if (auto strided = constant ? dyn_cast<nn::StridedAttr>(constant.getValue())
                                : nn::StridedAttr()) {
      nn::HostTensor reshaped =
          nn::HostTensor::fromAttribute(strided).reshaped(type.getShape());
      if (!reshaped.isOverlapping()) // written out
        return failure();
      rewriter.replaceOpWithNewOp<nn::ConstantOp>(
          op, type, reshaped.toCompactAttribute());
      return success();
    }
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                             : DenseElementsAttr();
    if (!elements)
      return failure();
    rewriter.replaceOpWithNewOp<nn::ConstantOp>(op, type,
                                                elements.reshape(type));
    return success();
  }
};

} // namespace

void raise::populateViewPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (StringRef root :
       {nn::ReshapeOp::getOperationName(), nn::TransposeOp::getOperationName(),
        nn::BroadcastOp::getOperationName()})
    patterns.add<ShortenViewChain>(context, root);
  patterns.add<FoldReshapeOfConstant>(context);
}

// Products with parameters -> nn.linear: any leading dims, weight read in its
// own orientation, bias folded in.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// matmul(x, w), w a parameter (or computed from parameters) that all leading
// dims share.
struct RaiseLinear : OpRewritePattern<nn::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MatMulOp op,
                                PatternRewriter &rewriter) const override {
    Value weight = op.getRhs();
    if (!isWeightLike(weight))
      return failure();
    View view = View::of(weight);
    unsigned rank = view.dims().size();
    if (rank < 2 || !view.isAllBroadcast(view.flat(0, rank - 2)))
      return nearMiss(rewriter, op, "nn.linear", "the weight of ", weight,
                      " has other dims than input and output features");
    View::Dim in = view.dims()[rank - 2], out = view.dims()[rank - 1];
    if (op.getTransposeRhs())
      std::swap(in, out);
    // As stored, where the rows or the columns of the parameter are the input
    // features.
    bool transposeWeight =
        view.needsTranspose({in, out}) && !view.needsTranspose({out, in});
    View::Dims target =
        transposeWeight ? View::Dims{out, in} : View::Dims{in, out};
    Value x = op.getLhs();
    if (op.getTransposeLhs()) {
      View lhs = View::identity(x);
      View::Dims swapped = lhs.dims();
      std::swap(swapped[rank - 2], swapped[rank - 1]);
      x = lhs.emit(rewriter, op.getLoc(), swapped);
    }
    Value stored = view.emit(rewriter, op.getLoc(), target);
    rewriter.replaceOpWithNewOp<nn::LinearOp>(op, op.getType(), x, stored,
                                              Value(), transposeWeight);
    return success();
  }
};

// linear(x, w) + b, also through a reshape of the rows.
struct FoldBias : OpRewritePattern<nn::AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AddOp op,
                                PatternRewriter &rewriter) const override {
    return matchCommutative(op, [&](Value a, Value b) {
      View rows = View::of(a);
      auto linear = rows.base().getDefiningOp<nn::LinearOp>();
      if (!linear || linear.getBias() || rows.hasBroadcast() ||
          rows.dims().empty() || rows.dims().back() != rows.baseDims().back() ||
          !isWeightLike(b))
        return failure();
      if (!hasOneUser(a, linear))
        return nearMiss(rewriter, op, "nn.linear's bias", Value(linear),
                        " is read without it too");
      auto vector = alongLastDim(b);
      if (!vector || llvm::any_of(vector->dims().back(), [&](unsigned atom) {
            return vector->atom(atom).broadcast;
          }))
        return nearMiss(rewriter, op, "nn.linear's bias", b,
                        " is not one number for each output feature");
      Value bias = emitVector(rewriter, op.getLoc(), *vector);
      auto biased = nn::LinearOp::create(
          rewriter, rewriter.getFusedLoc({linear.getLoc(), op.getLoc()}),
          linear.getType(), linear.getInput(), linear.getWeight(), bias,
          linear.getTransposeWeight());
      View result = View::identity(biased);
      for (Operation *view : llvm::reverse(viewsBetween(a, linear)))
        result.apply(view);
      rewriter.replaceOp(op, result.emit(rewriter, op.getLoc()));
      return success();
    });
  }

  static SmallVector<Operation *> viewsBetween(Value value, Operation *base) {
    SmallVector<Operation *> views;
    for (Operation *op = value.getDefiningOp(); op != base;
         op = op->getOperand(0).getDefiningOp())
      views.push_back(op);
    return views;
  }
  // With a second user the product without bias is needed as well.
  static bool hasOneUser(Value value, Operation *base) {
    return base->hasOneUse() &&
           llvm::all_of(viewsBetween(value, base),
                        [](Operation *view) { return view->hasOneUse(); });
  }
};

// linear(view(x)) -> view(linear(x)), where the view only arranges rows: Gemm
// between reshapes, [S, B, C] layouts.
struct SinkRowViews : OpRewritePattern<nn::LinearOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LinearOp op,
                                PatternRewriter &rewriter) const override {
    View view = View::of(op.getInput());
    if (view.base() == op.getInput() || view.hasBroadcast())
      return failure();
    const View::Dim &features = view.dims().back();
    // The features must be the base's last dims, whole.
    View::Dims target(view.baseDims());
    View::Dim last;
    while (!target.empty() && last.size() < features.size())
      last.insert(last.begin(), target.back().begin(), target.back().end()),
          target.pop_back();
    if (last != features)
      return failure();
    View::Dims leading = target;
    target.push_back(last);
    if (target == view.dims())
      return failure();
    Value x = view.emit(rewriter, op.getLoc(), target);
    SmallVector<int64_t> shape(shapeOf(x));
    int64_t outputs = shapeOf(op.getResult()).back();
    shape.back() = outputs;
    auto linear = nn::LinearOp::create(
        rewriter, op.getLoc(), withShape(op.getResult(), shape), x,
        op.getWeight(), op.getBias(), op.getTransposeWeight());
    // The rows of the result have the atoms of x's rows.
    View result = View::identity(linear);
    SmallVector<unsigned> rows;
    for (const View::Dim &dim : leading)
      rows.append(dim.begin(), dim.end());
    result.refineDims(0, leading.size(), view.sizes(rows));
    View::Dim newRows = result.flat(0, leading.size());
    View::Dims arranged;
    for (const View::Dim &dim : ArrayRef(view.dims()).drop_back()) {
      View::Dim &mapped = arranged.emplace_back();
      for (unsigned atom : dim)
        mapped.push_back(newRows[llvm::find(rows, atom) - rows.begin()]);
    }
    arranged.push_back(result.dims().back());
    rewriter.replaceOp(op, result.emit(rewriter, op.getLoc(), arranged));
    return success();
  }
};

} // namespace

void raise::populateLinearPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseLinear, FoldBias, SinkRowViews>(patterns.getContext());
}

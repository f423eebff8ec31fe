// Moves transposes down through elementwise ops and norms, and slices up to
// where a value is made, so that transposes meet and cancel and slices read a
// library call's result in place.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// slice(transpose(x)) -> transpose(slice(x)).
struct SliceOfTranspose : OpRewritePattern<nn::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<nn::TransposeOp>();
    if (!transpose)
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> starts(permutation.size()), limits(starts),
        strides(starts), shape(starts);
    for (auto [to, from] : llvm::enumerate(permutation)) {
      starts[from] = op.getStarts()[to];
      limits[from] = op.getLimits()[to];
      strides[from] = op.getStrides()[to];
      shape[from] = shapeOf(op.getResult())[to];
    }
    Value slice = nn::SliceOp::create(
        rewriter, op.getLoc(), withShape(op.getResult(), shape),
        transpose.getInput(), starts, limits, strides);
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getResult().getType(),
                                                 slice, permutation);
    return success();
  }
};

// slice(reshape(x)) -> reshape(slice(x)), where each sliced dim is the
// outermost factor of one dim of x.
struct SliceOfReshape : OpRewritePattern<nn::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<nn::ReshapeOp>();
    if (!reshape)
      return failure();
    View view = View::identity(reshape.getInput());
    if (!view.apply(reshape))
      return failure();
    ArrayRef<int64_t> from = shapeOf(reshape.getInput()),
                      cut = shapeOf(op.getInput());
    SmallVector<int64_t> starts(from.size(), 0), limits(from),
        strides(from.size(), 1), shape(from);
    for (unsigned d = 0; d < cut.size(); ++d) {
      int64_t start = op.getStarts()[d],
              limit = std::min(op.getLimits()[d], cut[d]),
              stride = op.getStrides()[d];
      if (shapeOf(op.getResult())[d] == cut[d])
        continue;
      const View::Dim &dim = view.dims()[d];
      const auto *source =
          llvm::find_if(view.baseDims(), [&](const View::Dim &base) {
            return base.size() >= dim.size() &&
                   ArrayRef(base).take_front(dim.size()) == ArrayRef(dim);
          });
      if (source == view.baseDims().end())
        return failure();
      unsigned s = source - view.baseDims().begin();
      int64_t inner = view.product(ArrayRef(*source).drop_front(dim.size()));
      if (inner != 1 && stride != 1)
        return failure();
      starts[s] = start * inner;
      limits[s] = inner == 1 ? limit : limit * inner;
      strides[s] = stride;
      shape[s] = shapeOf(op.getResult())[d] * inner;
    }
    Value slice = nn::SliceOp::create(
        rewriter, op.getLoc(), withShape(op.getResult(), shape),
        reshape.getInput(), starts, limits, strides);
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op.getResult().getType(),
                                               slice);
    return success();
  }
};

// slice(slice(x)) -> slice(x); a slice of everything is x.
struct ComposeSlices : OpRewritePattern<nn::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInput().getType() == op.getResult().getType()) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    auto inner = op.getInput().getDefiningOp<nn::SliceOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> starts, limits, strides;
    for (unsigned d = 0; d < op.getStarts().size(); ++d) {
      int64_t count = shapeOf(op.getResult())[d];
      starts.push_back(inner.getStarts()[d] +
                       op.getStarts()[d] * inner.getStrides()[d]);
      strides.push_back(op.getStrides()[d] * inner.getStrides()[d]);
      limits.push_back(count == 0
                           ? starts.back()
                           : starts.back() + (count - 1) * strides.back() + 1);
    }
    rewriter.replaceOpWithNewOp<nn::SliceOp>(op, op.getResult().getType(),
                                             inner.getInput(), starts, limits,
                                             strides);
    return success();
  }
};

// slice(concat(a, b, ...)) -> slice(a), where it lies in a alone.
struct SliceOfConcat : OpRewritePattern<nn::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<nn::ConcatOp>();
    if (!concat)
      return failure();
    auto axis = int64_t(concat.getAxis());
    int64_t count = shapeOf(op.getResult())[axis], begin = op.getStarts()[axis],
            end = begin + (count - 1) * op.getStrides()[axis] + 1, place = 0;
    if (count == 0)
      return failure();
    for (Value input : concat.getInputs()) {
      int64_t size = shapeOf(input)[axis];
      if (place <= begin && end <= place + size) {
        SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
        starts[axis] = begin - place;
        limits[axis] = end - place;
        rewriter.replaceOpWithNewOp<nn::SliceOp>(op, op.getResult().getType(),
                                                 input, starts, limits,
                                                 op.getStrides());
        return success();
      }
      place += size;
    }
    return failure();
  }
};

// The view of `value`, where it only moves elements; else nothing.
std::optional<View> movedView(Value value) {
  View view = View::of(value);
  if (view.base() == value || view.hasBroadcast() || view.isReshape())
    return std::nullopt;
  return view;
}

// How an operand of the shape of a view's result gets the shape of the view's
// base.
struct Undone {
  std::optional<double> splat;
  View view;
  View::Dims target;
};

// Nothing where that would move a large tensor.
std::optional<Undone> undo(const View &view, Value operand) {
  Undone undone{splatValue(operand), View::of(operand), {}};
  if (undone.splat)
    return undone;
  View &other = undone.view;
  View mine = view;
  for (unsigned d = 0; d < mine.dims().size(); ++d) {
    SmallVector<int64_t> theirs = other.sizes(other.dims()[d]);
    if (!mine.refineDims(d, d + 1, theirs) ||
        !other.refineDims(d, d + 1, mine.sizes(mine.dims()[d])))
      return std::nullopt;
  }
  View::Dim here = mine.flat(0, mine.dims().size()),
            there = other.flat(0, other.dims().size());
  for (const View::Dim &dim : mine.baseDims()) {
    View::Dim &mapped = undone.target.emplace_back();
    for (unsigned atom : dim)
      mapped.push_back(there[llvm::find(here, atom) - here.begin()]);
  }
  bool small = typeOf(other.base()).getNumElements() <
               typeOf(view.base()).getNumElements();
  if (other.needsTranspose(undone.target) && !small)
    return std::nullopt;
  return undone;
}

// f(transpose(x), ...) -> transpose(f(x, ...)) for elementwise f, where the
// other operands are moved alike or are small.
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
      return failure();
    std::optional<View> view;
    for (Value operand : op->getOperands())
      if ((view = movedView(operand)))
        break;
    if (!view)
      return failure();
    SmallVector<Undone, 0> undone;
    for (Value operand : op->getOperands()) {
      auto one = undo(*view, operand);
      if (!one)
        return failure();
      undone.push_back(std::move(*one));
    }
    ArrayRef<int64_t> shape = shapeOf(view->base());
    SmallVector<Value> operands;
    for (auto [operand, one] : llvm::zip_equal(op->getOperands(), undone))
      operands.push_back(
          one.splat ? splatConstant(rewriter, op->getLoc(),
                                    withShape(operand, shape), *one.splat)
                    : one.view.emit(rewriter, op->getLoc(), one.target));
    OperationState state(op->getLoc(), op->getName(), operands,
                         {withShape(op->getResult(0), shape)}, op->getAttrs());
    Operation *moved = rewriter.create(state);
    View result = View::identity(moved->getResult(0));
    replay(op, *view, result, rewriter);
    return success();
  }

  // Replaces op by what `view` makes of `result`, whose base has the shape of
  // the view's base.
  static void replay(Operation *op, const View &view, View &result,
                     PatternRewriter &rewriter) {
    for (unsigned d = 0; d < view.baseDims().size(); ++d)
      result.refineDims(d, d + 1, view.sizes(view.baseDims()[d]));
    View::Dim from, to = result.flat(0, result.dims().size());
    for (const View::Dim &dim : view.baseDims())
      from.append(dim);
    View::Dims target;
    for (const View::Dim &dim : view.dims()) {
      View::Dim &mapped = target.emplace_back();
      for (unsigned atom : dim)
        mapped.push_back(to[llvm::find(from, atom) - from.begin()]);
    }
    rewriter.replaceAllUsesWith(op->getResult(0),
                                result.emit(rewriter, op->getLoc(), target));
    rewriter.eraseOp(op);
  }
};

// norm(transpose(x)) -> transpose(norm(x)) where the last dim stays.
struct SinkThroughNorm : RewritePattern {
  SinkThroughNorm(MLIRContext *context, StringRef root)
      : RewritePattern(root, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto view = movedView(op->getOperand(0));
    if (!view || view->dims().back() != view->baseDims().back() ||
        llvm::any_of(op->getResults().drop_front(),
                     [](Value statistics) { return !statistics.use_empty(); }))
      return failure();
    SmallVector<Value> operands(op->getOperands());
    operands[0] = view->base();
    SmallVector<int64_t> narrow(shapeOf(view->base()));
    narrow.back() = 1;
    SmallVector<Type> types{withShape(op->getResult(0), shapeOf(view->base()))};
    for (Value statistics : op->getResults().drop_front())
      types.push_back(withShape(statistics, narrow));
    OperationState state(op->getLoc(), op->getName(), operands, types,
                         op->getAttrs());
    Operation *moved = rewriter.create(state);
    View result = View::identity(moved->getResult(0));
    SinkThroughElementwise::replay(op, *view, result, rewriter);
    return success();
  }
};

} // namespace

void raise::populateMotionPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<SliceOfTranspose, SliceOfReshape, SliceOfConcat, ComposeSlices,
               SinkThroughElementwise>(context);
  for (StringRef root :
       {nn::LayerNormOp::getOperationName(), nn::RmsNormOp::getOperationName(),
        nn::SoftmaxOp::getOperationName(),
        nn::LogSoftmaxOp::getOperationName()})
    patterns.add<SinkThroughNorm>(context, root);
}

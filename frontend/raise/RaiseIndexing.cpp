// Gathers: rows of a parameter at run-time ids -> nn.embedding; positions known
// at compile time -> slices and views.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

std::optional<SmallVector<int64_t>> constantInts(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !elements.getElementType().isIntOrIndex())
    return std::nullopt;
  return llvm::map_to_vector(elements.getValues<APInt>(),
                             [](const APInt &i) { return i.getSExtValue(); });
}

// first, first + step, ... of `count` numbers, step > 0.
struct Progression {
  int64_t first, step, count;
};
std::optional<Progression> asProgression(ArrayRef<int64_t> values,
                                         int64_t size) {
  auto position = [&](int64_t index) {
    return index < 0 ? index + size : index;
  };
  if (values.empty())
    return std::nullopt;
  Progression result{position(values[0]), 1,
                     static_cast<int64_t>(values.size())};
  if (values.size() > 1)
    result.step = position(values[1]) - result.first;
  for (size_t i = 0; i < values.size(); ++i)
    if (position(values[i]) !=
            result.first + result.step * static_cast<int64_t>(i) ||
        position(values[i]) < 0 || position(values[i]) >= size)
      return std::nullopt;
  if (result.step <= 0)
    return std::nullopt;
  return result;
}

// gather at indices that a broadcast repeats, or that are equal along leading
// dims: gather once, then broadcast.
struct GatherOnce : OpRewritePattern<nn::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherOp op,
                                PatternRewriter &rewriter) const override {
    Value indices = op.getIndices();
    View view = View::of(indices);
    ArrayRef<int64_t> shape = shapeOf(indices);
    SmallVector<int64_t> narrow(shape);
    Value once;
    if (view.hasBroadcast()) {
      View::Dims target;
      for (auto [d, dim] : llvm::enumerate(view.dims())) {
        bool repeated = !dim.empty() && view.isAllBroadcast(dim);
        target.push_back(repeated ? View::Dim() : dim);
        narrow[d] = repeated ? 1 : shape[d];
      }
      if (ArrayRef(narrow) == shape)
        return failure();
      once = view.emit(rewriter, op.getLoc(), target);
    } else {
      auto values = constantInts(indices);
      if (!values || values->empty())
        return failure();
      int64_t inner = values->size();
      for (unsigned d = 0; d < shape.size(); ++d) {
        int64_t piece = inner / shape[d];
        bool repeated = shape[d] > 1;
        for (int64_t i = piece; i < inner && repeated; ++i)
          repeated = (*values)[i] == (*values)[i - piece];
        if (!repeated)
          break;
        narrow[d] = 1;
        inner = piece;
      }
      if (ArrayRef(narrow) == shape)
        return failure();
      values->resize(inner);
      auto type = withShape(indices, narrow);
      SmallVector<Attribute> attributes =
          llvm::map_to_vector(*values, [&](int64_t i) {
            return Attribute(rewriter.getIntegerAttr(type.getElementType(), i));
          });
      once = nn::ConstantOp::create(rewriter, op.getLoc(), type,
                                    DenseElementsAttr::get(type, attributes));
    }
    SmallVector<int64_t> resultShape(shapeOf(op.getResult()));
    std::copy(narrow.begin(), narrow.end(), resultShape.begin() + op.getAxis());
    auto gather = nn::GatherOp::create(rewriter, op.getLoc(),
                                       withShape(op.getResult(), resultShape),
                                       op.getData(), once, op.getAxisAttr());
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), gather);
    return success();
  }
};

// gather at constant positions first, first + step, ... -> slice.
struct GatherToSlice : OpRewritePattern<nn::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherOp op,
                                PatternRewriter &rewriter) const override {
    int64_t axis = op.getAxis();
    ArrayRef<int64_t> shape = shapeOf(op.getData());
    auto values = constantInts(op.getIndices());
    auto progression =
        values ? asProgression(*values, shape[axis]) : std::nullopt;
    if (!progression)
      return failure();
    SmallVector<int64_t> starts(shape.size(), 0), limits(shape),
        strides(shape.size(), 1), sliced(shape);
    starts[axis] = progression->first;
    limits[axis] =
        progression->first + (progression->count - 1) * progression->step + 1;
    strides[axis] = progression->step;
    sliced[axis] = progression->count;
    Value slice = nn::SliceOp::create(rewriter, op.getLoc(),
                                      withShape(op.getData(), sliced),
                                      op.getData(), starts, limits, strides);
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op.getType(), slice);
    return success();
  }
};

// Rows of a parameter.
struct GatherToEmbedding : OpRewritePattern<nn::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto type = typeOf(op.getData());
    if (op.getAxis() != 0 || type.getRank() != 2 ||
        !isa<FloatType>(type.getElementType()) || !isWeightLike(op.getData()) ||
        isConstantExpression(op.getIndices()))
      return failure();
    rewriter.replaceOpWithNewOp<nn::EmbeddingOp>(op, op.getType(), op.getData(),
                                                 op.getIndices());
    return success();
  }
};

// gather_nd at a grid of all positions of the leading dims, in order or
// repeated along dims -> reshape and broadcast. transformers indexes its masks
// so.
struct GatherNdToView : OpRewritePattern<nn::GatherNdOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherNdOp op,
                                PatternRewriter &rewriter) const override {
    auto tuples = constantInts(op.getIndices());
    ArrayRef<int64_t> data = shapeOf(op.getData()),
                      grid = shapeOf(op.getIndices());
    if (!tuples || tuples->empty() || op.getBatchDims() != 0 || grid.empty() ||
        grid.back() > int64_t(data.size()))
      return failure();
    int64_t depth = grid.back();
    grid = grid.drop_back();
    // Row-major position of each tuple.
    SmallVector<int64_t> positions;
    for (size_t i = 0; i < tuples->size(); i += depth) {
      int64_t position = 0;
      for (int64_t d = 0; d < depth; ++d) {
        int64_t index = (*tuples)[i + d];
        index += index < 0 ? data[d] : 0;
        if (index < 0 || index >= data[d])
          return failure();
        position = position * data[d] + index;
      }
      positions.push_back(position);
    }
    // The step of the position along each dim of the grid; 0 where it repeats.
    SmallVector<int64_t> narrow(grid.size(), 1), gridStrides(grid.size(), 1);
    for (int64_t d = int64_t(grid.size()) - 2; d >= 0; --d)
      gridStrides[d] = gridStrides[d + 1] * grid[d + 1];
    int64_t next = 1;
    SmallVector<int64_t> steps(grid.size(), 0);
    for (int64_t d = int64_t(grid.size()) - 1; d >= 0; --d) {
      steps[d] = grid[d] > 1 ? positions[gridStrides[d]] - positions[0] : 0;
      if (steps[d] == 0)
        continue;
      if (steps[d] != next)
        return failure();
      narrow[d] = grid[d];
      next *= grid[d];
    }
    int64_t rows = 1;
    for (int64_t size : data.take_front(depth))
      rows *= size;
    if (next != rows)
      return failure();
    for (size_t i = 0; i < positions.size(); ++i) {
      int64_t expected = 0;
      for (size_t d = 0; d < grid.size(); ++d)
        expected += int64_t(i) / gridStrides[d] % grid[d] * steps[d];
      if (positions[i] != expected)
        return failure();
    }
    llvm::append_range(narrow, data.drop_front(depth));
    Value reshaped = nn::ReshapeOp::create(
        rewriter, op.getLoc(), withShape(op.getData(), narrow), op.getData());
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), reshaped);
    return success();
  }
};

} // namespace

void raise::populateIndexingPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherOnce, GatherToSlice, GatherToEmbedding, GatherNdToView>(
      patterns.getContext());
}

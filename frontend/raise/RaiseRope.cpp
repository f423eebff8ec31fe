// Rotary positions: x cos + rotate(x) sin, or the rotation of the two halves
// (or of neighbours) written out -> nn.rope. nn.rope works on [B, S, H, D];
// exports rotate [B, H, S, D], so transposes are put around it, which then
// cancel.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// Which half of x's last dim a value holds.
enum class Part { First, Second, Even, Odd };
struct PartOf {
  Value x;
  Part part;
};

// Seen through reshapes that only add or drop dims of size 1 at the end.
Value withoutUnitDims(Value value) {
  value = skipFloatCasts(value);
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>()) {
    auto trimmed = [](Value v) {
      ArrayRef<int64_t> shape = shapeOf(v);
      while (!shape.empty() && shape.back() == 1)
        shape = shape.drop_back();
      return shape;
    };
    if (trimmed(reshape.getInput()) != trimmed(reshape.getResult()))
      break;
    value = skipFloatCasts(reshape.getInput());
  }
  return value;
}

std::optional<PartOf> matchPart(Value value) {
  value = withoutUnitDims(value);
  // x [..., 2, D/2] or [..., D/2, 2] indexed: the index's dim is dropped by a
  // reshape.
  if (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    if (reshape.getInput().getDefiningOp<nn::SliceOp>())
      value = reshape.getInput();
  auto slice = value.getDefiningOp<nn::SliceOp>();
  if (!slice)
    return std::nullopt;
  ArrayRef<int64_t> from = shapeOf(slice.getInput()),
                    starts = slice.getStarts(), limits = slice.getLimits(),
                    strides = slice.getStrides();
  int64_t rank = from.size(), sliced = -1;
  for (int64_t d = 0; d < rank; ++d)
    if (starts[d] != 0 || limits[d] < from[d] || strides[d] != 1) {
      if (sliced >= 0)
        return std::nullopt;
      sliced = d;
    }
  if (sliced < 0)
    return std::nullopt;
  int64_t last = from.back();
  Value x = skipFloatCasts(slice.getInput());
  if (auto split = x.getDefiningOp<nn::ReshapeOp>();
      split && limits[sliced] - starts[sliced] == 1 && from[sliced] == 2 &&
      shapeOf(split.getInput()).drop_back() == from.drop_back(2)) {
    if (sliced == rank - 1)
      return PartOf{skipFloatCasts(split.getInput()),
                    starts[sliced] == 0 ? Part::Even : Part::Odd};
    if (sliced == rank - 2)
      return PartOf{skipFloatCasts(split.getInput()),
                    starts[sliced] == 0 ? Part::First : Part::Second};
  }
  if (sliced != rank - 1 || last % 2)
    return std::nullopt;
  if (strides[sliced] == 1 && starts[sliced] == 0 && limits[sliced] == last / 2)
    return PartOf{x, Part::First};
  if (strides[sliced] == 1 && starts[sliced] == last / 2 &&
      limits[sliced] == last)
    return PartOf{x, Part::Second};
  if (strides[sliced] == 2 && starts[sliced] <= 1 &&
      limits[sliced] >= last - 1 + starts[sliced])
    return PartOf{x, starts[sliced] == 0 ? Part::Even : Part::Odd};
  return std::nullopt;
}

// value = -x.
Value matchNegated(Value value) {
  value = withoutUnitDims(value);
  Product product = flattenProduct(value);
  return product.factor == -1 && product.others.size() == 1 ? product.others[0]
                                                            : Value();
}

// The two values that are joined along the last dim: one after the other, or
// (interleaved) element by element.
struct Joined {
  Value first, second;
  bool interleaved;
};
std::optional<Joined> matchJoined(Value value) {
  value = skipFloatCasts(value);
  bool interleaved = false;
  if (auto reshape = value.getDefiningOp<nn::ReshapeOp>()) {
    // stack(a, b, -1) then flatten.
    ArrayRef<int64_t> from = shapeOf(reshape.getInput()),
                      to = shapeOf(reshape.getResult());
    if (from.size() != to.size() + 1 || from.back() != 2 ||
        from.drop_back(2) != to.drop_back())
      return std::nullopt;
    interleaved = true;
    value = skipFloatCasts(reshape.getInput());
  }
  auto concat = value.getDefiningOp<nn::ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 ||
      static_cast<int64_t>(concat.getAxis()) !=
          typeOf(concat.getResult()).getRank() - 1 ||
      concat.getInputs()[0].getType() != concat.getInputs()[1].getType())
    return std::nullopt;
  return Joined{concat.getInputs()[0], concat.getInputs()[1], interleaved};
}

// What rotates: x over cos and sin of x's shape (or of half of its last dim).
struct Rotation {
  Value x, cos, sin;
  bool interleaved;
};

bool arePartsOf(std::optional<PartOf> first, std::optional<PartOf> second,
                bool interleaved) {
  return first && second && first->x == second->x &&
         first->part == (interleaved ? Part::Even : Part::First) &&
         second->part == (interleaved ? Part::Odd : Part::Second);
}

// x cos + rotate(x) sin, rotate(x) = join(-second, first).
std::optional<Rotation> matchSumForm(Value value) {
  auto add = value.getDefiningOp<nn::AddOp>();
  auto lhs = add ? skipFloatCasts(add.getLhs()).getDefiningOp<nn::MulOp>()
                 : nn::MulOp();
  auto rhs = add ? skipFloatCasts(add.getRhs()).getDefiningOp<nn::MulOp>()
                 : nn::MulOp();
  if (!lhs || !rhs)
    return std::nullopt;
  for (auto [straight, turned] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    for (unsigned i : {0, 1}) {
      auto joined = matchJoined(turned->getOperand(i));
      Value negated = joined ? matchNegated(joined->first) : Value();
      if (!negated)
        continue;
      auto second = matchPart(negated), first = matchPart(joined->second);
      if (!arePartsOf(first, second, joined->interleaved))
        continue;
      for (unsigned j : {0, 1})
        if (skipFloatCasts(straight->getOperand(j)) == first->x)
          return Rotation{first->x, straight->getOperand(1 - j),
                          turned->getOperand(1 - i), joined->interleaved};
    }
  return std::nullopt;
}

// One of two products that has the form of a rotation's second: a join with a
// negated half, of which matchSumForm made nothing.
Value turnsAnother(Value value) {
  auto add = value.getDefiningOp<nn::AddOp>();
  if (!add)
    return Value();
  for (Value side : add->getOperands()) {
    auto product = skipFloatCasts(side).getDefiningOp<nn::MulOp>();
    if (!product)
      continue;
    for (Value factor : product->getOperands())
      if (auto joined = matchJoined(factor);
          joined && matchNegated(joined->first))
        return product;
  }
  return Value();
}

// join(first cos - second sin, second cos + first sin).
std::optional<Rotation> matchHalvesForm(Value value) {
  auto joined = matchJoined(value);
  if (!joined)
    return std::nullopt;
  auto sub = withoutUnitDims(joined->first).getDefiningOp<nn::SubOp>();
  auto add = withoutUnitDims(joined->second).getDefiningOp<nn::AddOp>();
  if (!sub || !add)
    return std::nullopt;
  auto product = [](Value v) {
    return skipFloatCasts(v).getDefiningOp<nn::MulOp>();
  };
  auto firstCos = product(sub.getLhs()), secondSin = product(sub.getRhs());
  auto left = product(add.getLhs()), right = product(add.getRhs());
  if (!firstCos || !secondSin || !left || !right)
    return std::nullopt;
  auto other = [](nn::MulOp mul, Value one) {
    return mul.getLhs() == one   ? mul.getRhs()
           : mul.getRhs() == one ? mul.getLhs()
                                 : Value();
  };
  for (unsigned i : {0, 1})
    for (unsigned j : {0, 1}) {
      Value first = firstCos->getOperand(i), cos = firstCos->getOperand(1 - i);
      Value second = secondSin->getOperand(j),
            sin = secondSin->getOperand(1 - j);
      if (!arePartsOf(matchPart(first), matchPart(second), joined->interleaved))
        continue;
      for (auto [secondCos, firstSin] :
           {std::pair(left, right), std::pair(right, left)})
        if (other(secondCos, second) == cos && other(firstSin, first) == sin)
          return Rotation{matchPart(first)->x, cos, sin, joined->interleaved};
    }
  return std::nullopt;
}

// Emits cos or sin as [1 or B, S, D]; a half of it is repeated.
Value emitTable(const View &view, unsigned batch, unsigned sequence,
                int64_t size, bool interleaved, unsigned rank,
                PatternRewriter &rewriter, Location location) {
  View::Dim last = view.dims().back();
  View::Dim batchDim = rank > 2 ? view.dims()[batch] : View::Dim();
  if (view.isAllBroadcast(batchDim))
    batchDim.clear();
  Value table =
      view.emit(rewriter, location, {batchDim, view.dims()[sequence], last});
  SmallVector<int64_t> shape(shapeOf(table));
  if (shape.back() == size)
    return table;
  SmallVector<int64_t> narrow(shape);
  narrow.insert(narrow.end() - (interleaved ? 0 : 1), 1);
  Value split = nn::ReshapeOp::create(rewriter, location,
                                      withShape(table, narrow), table);
  narrow[narrow.size() - (interleaved ? 1 : 2)] = 2;
  Value repeated = nn::BroadcastOp::create(rewriter, location,
                                           withShape(table, narrow), split);
  shape.back() = size;
  return nn::ReshapeOp::create(rewriter, location, withShape(table, shape),
                               repeated);
}

/// Whether a trained parameter reaches it through floats: learned frequencies, or
/// a product of two complex numbers, whose factors are both trained.
bool isTrained(Value value) {
  SmallVector<Value> left = {value};
  DenseSet<Value> seen;
  while (!left.empty()) {
    Value each = left.pop_back_val();
    Operation *op = each.getDefiningOp();
    if (!op || !seen.insert(each).second ||
        !isa<FloatType>(typeOf(each).getElementType()))
      continue;
    if (auto stop = dyn_cast<nn::StopGradientOp>(op); stop && !stop.getWhere())
      continue;
    if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<nn::ParameterOp>(
          get, get.getParameterAttr());
      if (parameter && parameter.getTrainable())
        return true;
    }
    llvm::append_range(left, op->getOperands());
  }
  return false;
}

struct RaiseRope : RewritePattern {
  RaiseRope(MLIRContext *context, StringRef root)
      : RewritePattern(root, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    auto rotation =
        isa<nn::AddOp>(op) ? matchSumForm(result) : matchHalvesForm(result);
    if (!rotation || rotation->x.getType() != result.getType()) {
      // Whoever asks for no remarks need not wait for this.
      bool isAsked = getContext()->getRemarkEngine();
      if (Value misfit = isAsked ? turnsAnother(result) : Value())
        return nearMiss(rewriter, op, "nn.rope", "what is turned in ", misfit,
                        " is not two halves of what is multiplied beside it");
      return failure();
    }
    auto type = typeOf(rotation->x);
    unsigned rank = type.getRank();
    int64_t size = type.getShape().back();
    Value cosValue = skipFloatCasts(rotation->cos),
          sinValue = skipFloatCasts(rotation->sin);
    View cos = View::of(cosValue), sin = View::of(sinValue),
         x = View::of(rotation->x);
    auto miss = [&](const auto &...why) {
      return nearMiss(rewriter, op, "nn.rope", why...);
    };
    if (rank < 2 || rank > 4 || size % 2)
      return miss("what rotates has shape ", type.getShape(),
                  "; expects 2 to 4 dims, the last one even");
    if (typeOf(cosValue).getElementType() != type.getElementType() ||
        typeOf(sinValue).getElementType() != type.getElementType())
      return miss("cosines and sines are ", typeOf(cosValue).getElementType(),
                  " and ", typeOf(sinValue).getElementType(),
                  ", what rotates is ", type.getElementType());
    if (cos.dims().size() != rank || sin.dims().size() != rank)
      return miss("cosines and sines have ", cos.dims().size(), " and ",
                  sin.dims().size(), " dims, what rotates has ", rank);
    if (isTrained(cosValue) || isTrained(sinValue))
      return miss("what gives the angles is trained, and there is no gradient "
                  "of them");
    // The dim of positions and, of four dims, that of heads, along which cos
    // and sin do not change.
    unsigned sequence = rank - 2, heads = 0;
    if (rank == 4) {
      auto shared = [&](unsigned dim) {
        return cos.isAllBroadcast(cos.dims()[dim]) &&
               sin.isAllBroadcast(sin.dims()[dim]);
      };
      auto layout = [&](unsigned s, unsigned h) {
        const View::Dims &d = x.dims();
        return x.needsTranspose({d[0], d[s], d[h], d[3]});
      };
      if (shared(1) && (!shared(2) || !layout(2, 1)))
        heads = 1;
      else if (shared(2))
        sequence = 1, heads = 2;
      else if (shared(1))
        heads = 1;
      else
        return miss("the cosines of ", cosValue, " and the sines of ", sinValue,
                    " are not the same for all heads");
    }
    auto arrange = [&](const View::Dims &dims) {
      View::Dims target;
      target.push_back(rank > 2 ? dims[0] : View::Dim());
      target.push_back(dims[sequence]);
      target.push_back(rank == 4 ? dims[heads] : View::Dim());
      target.push_back(dims[rank - 1]);
      return target;
    };
    Location location = op->getLoc();
    Value input = x.emit(rewriter, location, arrange(x.dims()));
    Value cosTable = emitTable(cos, 0, sequence, size, rotation->interleaved,
                               rank, rewriter, location);
    Value sinTable = emitTable(sin, 0, sequence, size, rotation->interleaved,
                               rank, rewriter, location);
    // cos and sin may be of a batch and of none: one shape for both.
    if (cosTable.getType() != sinTable.getType()) {
      Value &narrow = shapeOf(cosTable)[0] == 1 ? cosTable : sinTable;
      Value wide = shapeOf(cosTable)[0] == 1 ? sinTable : cosTable;
      narrow =
          nn::BroadcastOp::create(rewriter, location, wide.getType(), narrow);
    }
    auto rope = nn::RopeOp::create(rewriter, location, input.getType(), input,
                                   cosTable, sinTable, rotation->interleaved,
                                   /*transposed=*/false);
    View rotated = View::identity(rope);
    View::Dims back;
    if (rank == 4)
      back = {rotated.dims()[0], rotated.dims()[sequence == 2 ? 2 : 1],
              rotated.dims()[sequence == 2 ? 1 : 2], rotated.dims()[3]};
    else if (rank == 3)
      back = {rotated.dims()[0], rotated.dims()[1], rotated.dims()[3]};
    else
      back = {rotated.dims()[1], rotated.dims()[3]};
    rewriter.replaceOp(op, rotated.emit(rewriter, location, back));
    return success();
  }
};

} // namespace

void raise::populateRopePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (StringRef root :
       {nn::AddOp::getOperationName(), nn::ConcatOp::getOperationName(),
        nn::ReshapeOp::getOperationName()})
    patterns.add<RaiseRope>(context, root);
}

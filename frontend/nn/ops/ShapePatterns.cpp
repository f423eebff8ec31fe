// Canonicalization that spares zeros: the gradients of a tensor's slices, each
// padded and all added, become one concat, or, where they overlap and are one
// value times numbers, slices of that value; the rows of a table's gradient are
// added to what else is one.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/PatternMatch.h"

#include <map>

using namespace mlir;
using namespace shardc::nn;

namespace {

/// pad(a) + pad(b) + ... is pad(concat(a, b, ...)) where the places of a, b,
/// ... differ along one dim, and none covers another's; zeros stand where there
/// is room between them. (Up to the sign of zeros.) The whole chain of sums is
/// one step, so that n slices of a tensor cost n.
struct JoinPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp add,
                                PatternRewriter &rewriter) const override {
    PadOp first = soleUse(add.getLhs()), second = soleUse(add.getRhs());
    if (!first || !second || first == second)
      return failure();
    std::optional<int64_t> axis = differAlong(first, second);
    if (!axis)
      return failure();
    Row row(*axis);
    if (!row.add(first) || !row.add(second))
      return failure();
    // The sum goes on with more of them.
    while (add->hasOneUse()) {
      auto next = dyn_cast<AddOp>(*add->user_begin());
      if (!next)
        break;
      PadOp pad = soleUse(next.getLhs() == add ? next.getRhs() : next.getLhs());
      if (!pad || differAlong(first, pad) != axis || !row.add(pad))
        break;
      add = next;
    }
    if (row.size() == 2 && row.hasGaps())
      return failure();
    rewriter.setInsertionPoint(add);
    row.replace(add, rewriter);
    return success();
  }

private:
  static PadOp soleUse(Value value) {
    auto pad = value.getDefiningOp<PadOp>();
    return pad && pad->hasOneUse() ? pad : PadOp();
  }

  /// The one dim along which the places of two pads' inputs differ.
  static std::optional<int64_t> differAlong(PadOp one, PadOp other) {
    std::optional<int64_t> axis;
    for (int64_t dim = 0; dim < tensorType(one).getRank(); ++dim) {
      if (one.getInterior()[dim] != 0 || other.getInterior()[dim] != 0)
        return std::nullopt;
      if (one.getLow()[dim] == other.getLow()[dim] &&
          one.getHigh()[dim] == other.getHigh()[dim])
        continue;
      if (axis)
        return std::nullopt;
      axis = dim;
    }
    return axis;
  }

  /// Pads by the places of their inputs along a dim.
  class Row {
  public:
    explicit Row(int64_t axis) : axis(axis) {}

    size_t size() const { return pads.size(); }

    /// False where another's place is covered.
    bool add(PadOp pad) {
      auto next = pads.lower_bound(begin(pad));
      if ((next != pads.end() && begin(next->second) < end(pad)) ||
          (next != pads.begin() && end(std::prev(next)->second) > begin(pad)))
        return false;
      return pads.emplace(begin(pad), pad).second;
    }

    bool hasGaps() {
      int64_t covered = 0;
      for (auto &[_, pad] : pads)
        covered += end(pad) - begin(pad);
      return covered != end(pads.rbegin()->second) - pads.begin()->first;
    }

    void replace(AddOp add, PatternRewriter &rewriter) {
      PadOp first = pads.begin()->second, last = pads.rbegin()->second;
      auto typeOf = [&](int64_t size) {
        SmallVector<int64_t> shape(shapeOf(first.getInput()));
        shape[axis] = size;
        return tensorType(add).clone(shape);
      };
      SmallVector<Value> pieces;
      int64_t place = begin(first);
      for (auto &[low, pad] : pads) {
        if (low > place)
          pieces.push_back(ConstantOp::create(
              rewriter, add.getLoc(),
              HostTensor::splat(typeOf(low - place), 0).toAttribute()));
        pieces.push_back(pad.getInput());
        place = end(pad);
      }
      SmallVector<int64_t> high(first.getHigh());
      high[axis] = last.getHigh()[axis];
      Value joined = ConcatOp::create(
          rewriter, add.getLoc(), typeOf(place - begin(first)), pieces, axis);
      rewriter.replaceOpWithNewOp<PadOp>(add, add.getType(), joined,
                                         first.getLow(), high,
                                         first.getInterior());
    }

  private:
    int64_t begin(PadOp pad) const { return pad.getLow()[axis]; }
    int64_t end(PadOp pad) const {
      return begin(pad) + shapeOf(pad.getInput())[axis];
    }

    int64_t axis;
    std::map<int64_t, PadOp> pads;
  };
};

/// pad(x * a) + pad(x * b) + ..., in places that overlap, reads slices of one
/// padded x, where a, b, ... are the same along the dims that are padded: the
/// gradient of a sum over windows, each tap of which is multiplied by a number per
/// channel, becomes a sum over windows itself.
struct ShareScaledPads : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp pad,
                                PatternRewriter &rewriter) const override {
    auto own = Scaled::of(pad);
    if (!own)
      return failure();
    SmallVector<Scaled> all;
    for (Operation *user : own->x.getUsers())
      if (auto mul = dyn_cast<MulOp>(user); mul && mul->hasOneUse())
        if (auto other = dyn_cast<PadOp>(*mul->user_begin());
            other && other.getType() == pad.getType() &&
            other.getInterior() == pad.getInterior())
          if (auto scaled = Scaled::of(other); scaled && scaled->x == own->x) {
            // So n places beside each other are not looked at n times each.
            if (!overlap(pad, other))
              return failure();
            all.push_back(*scaled);
          }
    if (all.size() < fewest)
      return failure();
    SmallVector<int64_t> low(pad.getLow()), high(pad.getHigh()), least(low),
        shape;
    for (Scaled &each : all)
      for (size_t dim = 0; dim < low.size(); ++dim) {
        low[dim] = std::max(low[dim], each.pad.getLow()[dim]);
        least[dim] = std::min(least[dim], each.pad.getLow()[dim]);
        high[dim] = std::max(high[dim], each.pad.getHigh()[dim]);
      }
    for (size_t dim = 0; dim < low.size(); ++dim) {
      int64_t extent =
          shapeOf(pad)[dim] - pad.getLow()[dim] - pad.getHigh()[dim];
      if (low[dim] - least[dim] >= extent)
        return failure();
      shape.push_back(low[dim] + extent + high[dim]);
    }
    rewriter.setInsertionPointAfterValue(own->x);
    Value whole =
        PadOp::create(rewriter, pad.getLoc(), tensorType(pad).clone(shape),
                      own->x, low, high, pad.getInterior());
    for (Scaled &each : all)
      each.replaceBySliceOf(whole, low, rewriter);
    return success();
  }

private:
  /// A copy of x is not worth less.
  static constexpr size_t fewest = 3;

  static bool overlap(PadOp one, PadOp other) {
    for (auto [dim, size] : llvm::enumerate(shapeOf(one)))
      if (std::abs(one.getLow()[dim] - other.getLow()[dim]) >=
          size - one.getLow()[dim] - one.getHigh()[dim])
        return false;
    return true;
  }

  struct Scaled {
    PadOp pad;
    Value x;
    BroadcastOp factors;

    static std::optional<Scaled> of(PadOp pad) {
      auto mul = pad.getInput().getDefiningOp<MulOp>();
      if (!mul || !mul->hasOneUse())
        return std::nullopt;
      for (auto [x, factors] : {std::pair(mul.getLhs(), mul.getRhs()),
                                std::pair(mul.getRhs(), mul.getLhs())}) {
        auto broadcast = factors.getDefiningOp<BroadcastOp>();
        if (!broadcast || x == factors)
          continue;
        bool isSame = true;
        for (auto [dim, size] : llvm::enumerate(shapeOf(broadcast.getInput())))
          isSame &=
              size == 1 || (pad.getLow()[dim] == 0 && pad.getHigh()[dim] == 0 &&
                            pad.getInterior()[dim] == 0);
        if (isSame)
          return Scaled{pad, x, broadcast};
      }
      return std::nullopt;
    }

    void replaceBySliceOf(Value whole, ArrayRef<int64_t> low,
                          PatternRewriter &rewriter) {
      rewriter.setInsertionPoint(pad);
      SmallVector<int64_t> starts, limits, ones(low.size(), 1);
      for (size_t dim = 0; dim < low.size(); ++dim) {
        starts.push_back(low[dim] - pad.getLow()[dim]);
        limits.push_back(starts.back() + shapeOf(pad)[dim]);
      }
      Location location = pad.getInput().getLoc();
      Value slice = SliceOp::create(rewriter, location, pad.getType(), whole,
                                    starts, limits, ones);
      Value repeated = BroadcastOp::create(rewriter, location, pad.getType(),
                                           factors.getInput());
      rewriter.replaceOpWithNewOp<MulOp>(pad, slice, repeated);
    }
  };
};

/// concat(concat(a, b), c) is concat(a, b, c) along one axis. All that is
/// inside the outermost is taken at once, so that a row of n costs n.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp concat,
                                PatternRewriter &rewriter) const override {
    if (isInner(concat))
      return failure();
    SmallVector<Value> inputs;
    SmallVector<Value> left(llvm::reverse(concat.getInputs()));
    while (!left.empty()) {
      Value input = left.pop_back_val();
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == concat.getAxis() && inner->hasOneUse())
        left.append(llvm::to_vector(llvm::reverse(inner.getInputs())));
      else
        inputs.push_back(input);
    }
    if (inputs.size() == concat.getInputs().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(concat, concat.getType(), inputs,
                                          concat.getAxis());
    return success();
  }

private:
  static bool isInner(ConcatOp concat) {
    auto outer = concat->hasOneUse() ? dyn_cast<ConcatOp>(*concat->user_begin())
                                     : ConcatOp();
    return outer && outer.getAxis() == concat.getAxis();
  }
};

/// x + embedding_grad(g, ids) adds the rows onto x: no table of zeros, and
/// where x is read here alone no second table. (The rows are added to x one by
/// one, instead of their sum.)
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
  // Pads are there to be added.
  patterns.add<JoinPads, ShareScaledPads, AddRowsOntoGradient>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<FlattenConcat>(context);
}

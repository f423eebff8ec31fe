// dropout(softmax(capped(scale q k^T) + mask)) v -> nn.attention, whatever the
// layout: [B, H, S, D], [B*H, S, D], more batch dims, grouped heads repeated by
// views.
// All is read as views, so q, k, v become views of what made them, in [B, S, H,
// D].
#include "frontend/raise/AttentionMatch.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

using Operand = AttentionMatch::Operand;

// Exporters multiply q and k by a float32 root of the scale.
double exactScale(double scale, int64_t headDim) {
  double usual = 1 / std::sqrt(double(headDim));
  return isClose(scale, usual) ? usual : withoutFloat32Rounding(scale);
}

// Of a remark.
std::string windowText(const KeyWindow &window) {
  std::string text = window.isCausal() ? ", causal" : "";
  if (window.left >= 0)
    text += ", " + std::to_string(window.left) + " keys before its own";
  if (window.right > 0)
    text += ", " + std::to_string(window.right) + " behind";
  return text;
}

std::string numberText(const char *before, double number) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (number != 0)
    stream << before << llvm::format("%g", number);
  return text;
}

struct RaiseAttention : OpRewritePattern<nn::MatMulOp> {
  RaiseAttention(MLIRContext *context, MaskCache &cache)
      : OpRewritePattern(context), cache(cache) {}

  LogicalResult matchAndRewrite(nn::MatMulOp op,
                                PatternRewriter &rewriter) const override {
    AttentionMatch match(op, rewriter);
    if (failed(match.find()))
      return failure();
    build(match, rewriter);
    return success();
  }

private:
  void build(const AttentionMatch &match, PatternRewriter &rewriter) const;

  MaskCache &cache;
};

// Only says why a softmax over products is none of an attention: whoever reads
// it is no product, which is where RaiseAttention begins.
struct MissSoftmax : OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SoftmaxOp op,
                                PatternRewriter &rewriter) const override;
};

} // namespace

void RaiseAttention::build(const AttentionMatch &match,
                           PatternRewriter &rewriter) const {
  nn::MatMulOp op = match.op;
  nn::DropoutOp dropout = match.dropout;
  const std::optional<Operand> &sink = match.sink;
  ArrayRef<int64_t> factors = match.factors;
  unsigned cut = match.cut, count = factors.size(), groups = count;
  // Trailing factors that repeat both keys and values are heads of one group.
  auto repeats = [&](const Operand &operand, unsigned i) {
    return operand.view.atom(operand.batch()[i]).broadcast;
  };
  while (groups > cut && repeats(match.k, groups - 1) &&
         repeats(match.v, groups - 1))
    --groups;
  Location location = op.getLoc();
  Type element = typeOf(op.getResult()).getElementType();
  auto emit = [&](const Operand &operand, unsigned heads) -> Value {
    Value value =
        operand.view.emit(rewriter, location,
                          {operand.batch(0, cut), operand.rows(),
                           operand.batch(cut, heads), operand.columns()});
    auto type = RankedTensorType::get(shapeOf(value), element);
    return value.getType() == type
               ? value
               : nn::CastOp::create(rewriter, location, type, value)
                     .getResult();
  };
  Value query = emit(match.q, count), key = emit(match.k, groups),
        value = emit(match.v, groups);
  ArrayRef<int64_t> queryShape = shapeOf(query);
  ScoreDims dims{llvm::to_vector(factors.take_front(cut)),
                 llvm::to_vector(factors.drop_front(cut)), queryShape[1],
                 shapeOf(key)[1]};
  MaskOperands mask = emitMask(rewriter, location, match.scores.mask.terms,
                               dims, element, cache);
  Value sinks;
  if (sink) {
    sinks = sink->view.emit(rewriter, location, {sink->batch(cut, count)});
    sinks = nn::ReshapeOp::create(
        rewriter, location,
        RankedTensorType::get({queryShape[2]}, typeOf(sinks).getElementType()),
        sinks);
    sinks = nn::CastOp::create(rewriter, location, typeOf(sinks).clone(element),
                               sinks);
  }
  AttentionParts parts{query,
                       key,
                       value,
                       mask.bias,
                       mask.keyMask,
                       sinks,
                       exactScale(match.scale, queryShape[3]),
                       match.scores.softcap,
                       mask.window,
                       {},
                       {}};
  if (dropout) {
    // Its name is what a run's --dropout-rate looks for.
    location = rewriter.getFusedLoc({location, dropout.getLoc()});
    parts.rate = dropout.getRateAttr();
    parts.site = dropout.getSiteAttr();
  }
  nn::AttentionOp attention = createAttention(rewriter, location, parts);
  if (auto note = remarkRaised(location))
    note << "raised to nn.attention, heads: " + std::to_string(queryShape[2]) +
                windowText(mask.window) +
                numberText(", scores capped at ", match.scores.softcap) +
                (dropout ? numberText(", probabilities dropped at ",
                                      dropout.getRate()->convertToDouble()) +
                               " by " + described(dropout.getResult())
                         : "") +
                (sinks ? ", with sinks" : "") +
                (mask.keyMask ? ", with a mask of keys" : "") +
                (mask.bias ? ", with a mask that is added to the scores: " +
                                 described(View::of(mask.bias).base())
                           : "");

  View result = View::identity(attention.getResult());
  result.refineDims(0, 1, factors.take_front(cut));
  result.refineDims(2, 3, factors.drop_front(cut));
  View::Dim batch = result.dims()[0];
  batch.append(result.dims()[2]);
  View::Dims target;
  auto *next = batch.begin();
  for (int64_t size : shapeOf(op.getResult()).drop_back(2)) {
    View::Dim &dim = target.emplace_back();
    for (int64_t left = size; left > 1; left /= result.atom(*next++).size)
      dim.push_back(*next);
  }
  target.push_back(result.dims()[1]);
  target.push_back(result.dims()[3]);
  rewriter.replaceOp(op, result.emit(rewriter, location, target));
}

LogicalResult MissSoftmax::matchAndRewrite(nn::SoftmaxOp op,
                                           PatternRewriter &rewriter) const {
  if (!leadsToProduct(op.getInput()))
    return failure();
  SmallVector<Value> open{op.getResult()};
  Operation *other = nullptr;
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<nn::MatMulOp>(user))
        return failure();
      // What stands between them in exports.
      if (isViewOp(user) ||
          isa<nn::CastOp, nn::SelectOp, nn::IsNanOp, nn::DropoutOp>(user))
        open.push_back(user->getResult(0));
      else if (!isa<nn::NotOp>(user))
        other = user;
    }
  return other ? nearMiss(rewriter, op, "nn.attention",
                          "the probabilities go into no product but into ",
                          described(other))
               : failure();
}

void raise::populateAttentionPatterns(RewritePatternSet &patterns,
                                      MaskCache &cache) {
  patterns.add<RaiseAttention>(patterns.getContext(), cache);
}

void raise::populateMissPatterns(RewritePatternSet &patterns) {
  patterns.add<MissSoftmax>(patterns.getContext());
}

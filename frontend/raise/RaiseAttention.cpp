// dropout(softmax(capped(scale q k^T) + mask)) v -> nn.attention, whatever the
// layout: [B, H, S, D], [B*H, S, D], more batch dims, grouped heads repeated by
// views.
// All is read as views, so q, k, v become views of what made them, in [B, S, H,
// D].
#include "frontend/nn/support/NeedsGradient.h"
#include "frontend/raise/AttentionScores.h"
#include "frontend/raise/MaskedRows.h"
#include "frontend/raise/Raise.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

Value behindProbabilities(Operation *op) {
  if (Value guarded = behindRowGuard(op))
    return guarded;
  if (auto dropout = dyn_cast<nn::DropoutOp>(op))
    return dropout.getInput();
  return behindFloatCast(op);
}

// Batch dims are of the same elements in the same order everywhere; only their
// factors differ.
bool hasOrderedBatch(const View &view, unsigned baseRank) {
  unsigned rank = view.dims().size();
  View::Dim before, after = view.flat(0, rank - 2);
  for (const View::Dim &dim :
       ArrayRef(view.baseDims()).take_front(baseRank - 2))
    before.append(dim);
  return before == after &&
         view.dims()[rank - 2] == view.baseDims()[baseRank - 2] &&
         view.dims()[rank - 1] == view.baseDims()[baseRank - 1] &&
         !view.hasBroadcast();
}

void swapLastDims(View &view) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(view.dims().size()));
  std::swap(permutation[permutation.size() - 1],
            permutation[permutation.size() - 2]);
  view.transpose(permutation);
}

// An operand [batch..., rows, columns] whose batch has the common factors.
struct Operand {
  View view;

  View::Dim batch() const { return view.flat(0, view.dims().size() - 2); }
  View::Dim batch(unsigned begin, unsigned end) const {
    View::Dim list = batch();
    return View::Dim(list.begin() + begin, list.begin() + end);
  }
  const View::Dim &rows() const { return view.dims()[view.dims().size() - 2]; }
  const View::Dim &columns() const { return view.dims().back(); }
  SmallVector<int64_t> batchSizes() const { return view.sizes(batch()); }
  bool refine(ArrayRef<int64_t> sizes) {
    return view.refineDims(0, view.dims().size() - 2, sizes);
  }
};

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
                                PatternRewriter &rewriter) const override;

private:
  // How many of the factors are batch; the others are heads. Both readings are
  // correct: the best moves no elements.
  static unsigned chooseCut(const Operand &q, const Operand &k,
                            const Operand &v, ArrayRef<int64_t> factors,
                            ArrayRef<ArrayRef<int64_t>> shapes);
  void build(nn::MatMulOp op, const Operand &q, const Operand &k,
             const Operand &v, const std::optional<Operand> &sink,
             const ScoresChain &scores, nn::DropoutOp dropout,
             ArrayRef<int64_t> factors, unsigned cut, double scale,
             PatternRewriter &rewriter) const;

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

LogicalResult RaiseAttention::matchAndRewrite(nn::MatMulOp op,
                                              PatternRewriter &rewriter) const {
  SmallVector<Operation *> behind;
  View probabilities = View::of(op.getLhs(), behindProbabilities, &behind);
  auto softmax = probabilities.base().getDefiningOp<nn::SoftmaxOp>();
  Value input = softmax ? softmax.getInput() : Value();
  WithSink withSink;
  if (!softmax) {
    withSink = WithSink::of(probabilities.base());
    softmax = withSink.softmax;
    input = withSink.scores;
  }
  unsigned rank = softmax ? typeOf(input).getRank() : 0;
  if (rank < 2)
    return failure();
  auto miss = [&](const auto &...why) {
    return nearMiss(rewriter, op, "nn.attention", why...);
  };
  if (op.getTransposeLhs())
    return miss("the product reads the probabilities of ", Value(softmax),
                " transposed");
  if (!hasOrderedBatch(probabilities, rank))
    return miss("between ", Value(softmax),
                " and the product stand views "
                "that do more than divide or join the batch: ",
                op.getLhs());
  nn::DropoutOp dropout;
  for (Operation *each : behind) {
    auto found = dyn_cast<nn::DropoutOp>(each);
    if (!found)
      continue;
    if (dropout || found.getSamplesFirst() || !found->hasOneUse())
      return miss("what ", Value(found), " keeps is not drawn for ",
                  Value(softmax), " and the product alone");
    dropout = found;
  }
  ScoresChain scores;
  if (!scores.walk(input))
    return miss("the scores of ", Value(softmax),
                " are no scale * (query key^T) + mask: of these, ",
                scores.misfit, " is none");
  nn::MatMulOp product = scores.product;
  unsigned productRank = typeOf(product.getResult()).getRank();
  View raw = View::identity(product.getResult());
  for (Operation *view : llvm::reverse(scores.path))
    if (!raw.apply(view))
      return miss(view->getResult(0), " cuts the scores of ", Value(product));
  if (!hasOrderedBatch(raw, productRank))
    return miss("the views behind the scores of ", Value(product),
                " do more than divide or join the batch");
  for (const MaskTerm &term : scores.mask.terms)
    if (!term.boolean && nn::needsGradient(term.view.base()))
      return miss("the mask of ", term.view.base(),
                  " is trained, and nn.attention's bias has no gradient");

  double scale = scores.scale;
  SmallVector<Operation *> passed;
  Operand q{View::of(product.getLhs(), behindScaleOrCast, &passed)};
  Operand k{View::of(product.getRhs(), behindScaleOrCast, &passed)};
  Operand v{View::of(op.getRhs(), behindFloatCast)};
  std::optional<Operand> sink;
  if (withSink.sink)
    sink = Operand{View::of(withSink.sink, behindFloatCast)};
  for (Operation *scaling : passed)
    scale *= scaleOf(scaling);
  if (product.getTransposeLhs())
    swapLastDims(q.view);
  if (!product.getTransposeRhs())
    swapLastDims(k.view);
  if (op.getTransposeRhs())
    swapLastDims(v.view);

  // The factors of the batch that all agree on.
  SmallVector<int64_t> factors;
  auto agree = [&](ArrayRef<int64_t> sizes) {
    auto refined = factors.empty() ? commonRefinement(sizes, sizes)
                                   : commonRefinement(factors, sizes);
    if (refined)
      factors = *refined;
    return refined.has_value();
  };
  auto resultShape = shapeOf(op.getResult());
  if (!agree(resultShape.drop_back(2)) || !agree(shapeOf(input).drop_back(2)) ||
      !agree(shapeOf(product.getResult()).drop_back(2)) ||
      !agree(q.batchSizes()) || !agree(k.batchSizes()) ||
      !agree(v.batchSizes()) || (sink && !agree(sink->batchSizes())))
    return miss("query, key and value divide batch and heads in ways that have "
                "no common one");
  for (const MaskTerm &term : scores.mask.terms)
    if (!agree(term.view.sizes(term.view.flat(0, term.view.dims().size() - 2))))
      return miss("the mask of ", term.view.base(),
                  " divides batch and heads as query, key and value do not");
  if (!q.refine(factors) || !k.refine(factors) || !v.refine(factors))
    return miss("query, key or value is broadcast in parts of a head");
  for (MaskTerm &term : scores.mask.terms)
    if (!term.view.refineDims(0, term.view.dims().size() - 2, factors))
      return miss("the mask of ", term.view.base(),
                  " is broadcast in parts of batch or heads");

  unsigned cut = chooseCut(q, k, v, factors, {resultShape, shapeOf(input)});
  if (sink && (!sink->refine(factors) ||
               !sink->view.isAllBroadcast(sink->batch(0, cut)) ||
               !sink->view.isAllBroadcast(sink->rows())))
    return miss("the last score of ", Value(softmax),
                " is not one of each head");
  build(op, q, k, v, sink, scores, dropout, factors, cut, scale, rewriter);
  return success();
}

unsigned RaiseAttention::chooseCut(const Operand &q, const Operand &k,
                                   const Operand &v, ArrayRef<int64_t> factors,
                                   ArrayRef<ArrayRef<int64_t>> shapes) {
  unsigned preferred = factors.size();
  for (ArrayRef<int64_t> shape : shapes) {
    if (shape.size() < 4)
      continue;
    int64_t left = shape[0];
    for (preferred = 0; left > 1; ++preferred)
      left /= factors[preferred];
    break;
  }
  unsigned best = 0, bestCost = ~0u;
  for (unsigned cut = 0; cut <= factors.size(); ++cut) {
    unsigned cost = cut != preferred;
    for (const Operand *operand : {&q, &k, &v}) {
      View::Dim heads = operand->batch(cut, factors.size());
      while (!heads.empty() && operand->view.atom(heads.back()).broadcast)
        heads.pop_back();
      if (operand->view.needsTranspose({operand->batch(0, cut), operand->rows(),
                                        heads, operand->columns()}))
        cost += 2;
    }
    if (cost < bestCost)
      best = cut, bestCost = cost;
  }
  return best;
}

void RaiseAttention::build(nn::MatMulOp op, const Operand &q, const Operand &k,
                           const Operand &v, const std::optional<Operand> &sink,
                           const ScoresChain &scores, nn::DropoutOp dropout,
                           ArrayRef<int64_t> factors, unsigned cut,
                           double scale, PatternRewriter &rewriter) const {
  unsigned count = factors.size(), groups = count;
  // Trailing factors that repeat both keys and values are heads of one group.
  auto repeats = [&](const Operand &operand, unsigned i) {
    return operand.view.atom(operand.batch()[i]).broadcast;
  };
  while (groups > cut && repeats(k, groups - 1) && repeats(v, groups - 1))
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
  Value query = emit(q, count), key = emit(k, groups), value = emit(v, groups);
  ArrayRef<int64_t> queryShape = shapeOf(query);
  ScoreDims dims{llvm::to_vector(factors.take_front(cut)),
                 llvm::to_vector(factors.drop_front(cut)), queryShape[1],
                 shapeOf(key)[1]};
  MaskOperands mask =
      emitMask(rewriter, location, scores.mask.terms, dims, element, cache);
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
                       exactScale(scale, queryShape[3]),
                       scores.softcap,
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
                numberText(", scores capped at ", scores.softcap) +
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

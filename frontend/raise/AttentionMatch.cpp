// Steps of the match: each fails, or leaves what the next one needs.
#include "frontend/raise/AttentionMatch.h"

#include "frontend/nn/support/NeedsGradient.h"
#include "frontend/raise/MaskedRows.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

static Value behindProbabilities(Operation *op) {
  if (Value guarded = behindRowGuard(op))
    return guarded;
  if (auto dropout = dyn_cast<nn::DropoutOp>(op))
    return dropout.getInput();
  return behindFloatCast(op);
}

// Batch dims are of the same elements in the same order everywhere; only their
// factors differ.
static bool hasOrderedBatch(const View &view, unsigned baseRank) {
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

static void swapLastDims(View &view) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(view.dims().size()));
  std::swap(permutation[permutation.size() - 1],
            permutation[permutation.size() - 2]);
  view.transpose(permutation);
}

template <typename... Why>
LogicalResult AttentionMatch::miss(const Why &...why) const {
  return nearMiss(rewriter, op, "nn.attention", why...);
}

LogicalResult AttentionMatch::find() {
  if (failed(findSoftmax()) || failed(findDropout()) || failed(findScores()))
    return failure();
  findOperands();
  return findFactors();
}

LogicalResult AttentionMatch::findSoftmax() {
  View probabilities = View::of(op.getLhs(), behindProbabilities, &behind);
  softmax = probabilities.base().getDefiningOp<nn::SoftmaxOp>();
  input = softmax ? softmax.getInput() : Value();
  if (!softmax) {
    WithSink withSink = WithSink::of(probabilities.base());
    softmax = withSink.softmax;
    input = withSink.scores;
    sinkScores = withSink.sink;
  }
  unsigned rank = softmax ? typeOf(input).getRank() : 0;
  if (rank < 2)
    return failure();
  if (op.getTransposeLhs())
    return miss("the product reads the probabilities of ", Value(softmax),
                " transposed");
  if (!hasOrderedBatch(probabilities, rank))
    return miss("between ", Value(softmax),
                " and the product stand views "
                "that do more than divide or join the batch: ",
                op.getLhs());
  return success();
}

LogicalResult AttentionMatch::findDropout() {
  for (Operation *each : behind) {
    auto found = dyn_cast<nn::DropoutOp>(each);
    if (!found)
      continue;
    if (dropout || found.getSamplesFirst() || !found->hasOneUse())
      return miss("what ", Value(found), " keeps is not drawn for ",
                  Value(softmax), " and the product alone");
    dropout = found;
  }
  return success();
}

LogicalResult AttentionMatch::findScores() {
  if (!scores.walk(input))
    return miss("the scores of ", Value(softmax),
                " are no scale * (query key^T) + mask: of these, ",
                scores.misfit, " is none");
  Value product = scores.product.getResult();
  View raw = View::identity(product);
  for (Operation *view : llvm::reverse(scores.path))
    if (!raw.apply(view))
      return miss(view->getResult(0), " cuts the scores of ", product);
  if (!hasOrderedBatch(raw, typeOf(product).getRank()))
    return miss("the views behind the scores of ", product,
                " do more than divide or join the batch");
  for (const MaskTerm &term : scores.mask.terms)
    if (!term.boolean && nn::needsGradient(term.view.base()))
      return miss("the mask of ", term.view.base(),
                  " is trained, and nn.attention's bias has no gradient");
  return success();
}

void AttentionMatch::findOperands() {
  nn::MatMulOp product = scores.product;
  SmallVector<Operation *> passed;
  q.view = View::of(product.getLhs(), behindScaleOrCast, &passed);
  k.view = View::of(product.getRhs(), behindScaleOrCast, &passed);
  v.view = View::of(op.getRhs(), behindFloatCast);
  if (sinkScores)
    sink = Operand{View::of(sinkScores, behindFloatCast)};
  scale = scores.scale;
  for (Operation *scaling : passed)
    scale *= scaleOf(scaling);
  if (product.getTransposeLhs())
    swapLastDims(q.view);
  if (!product.getTransposeRhs())
    swapLastDims(k.view);
  if (op.getTransposeRhs())
    swapLastDims(v.view);
}

bool AttentionMatch::agree(ArrayRef<int64_t> sizes) {
  auto refined = factors.empty() ? commonRefinement(sizes, sizes)
                                 : commonRefinement(factors, sizes);
  if (refined)
    factors = *refined;
  return refined.has_value();
}

LogicalResult AttentionMatch::findFactors() {
  Value product = scores.product.getResult();
  if (!agree(shapeOf(op.getResult()).drop_back(2)) ||
      !agree(shapeOf(input).drop_back(2)) ||
      !agree(shapeOf(product).drop_back(2)) || !agree(q.batchSizes()) ||
      !agree(k.batchSizes()) || !agree(v.batchSizes()) ||
      (sink && !agree(sink->batchSizes())))
    return miss("query, key and value divide batch and heads in ways that have "
                "no common one");
  auto endOfBatch = [](const MaskTerm &term) {
    return term.view.dims().size() - 2;
  };
  for (const MaskTerm &term : scores.mask.terms)
    if (!agree(term.view.sizes(term.view.flat(0, endOfBatch(term)))))
      return miss("the mask of ", term.view.base(),
                  " divides batch and heads as query, key and value do not");
  if (!q.refine(factors) || !k.refine(factors) || !v.refine(factors))
    return miss("query, key or value is broadcast in parts of a head");
  for (MaskTerm &term : scores.mask.terms)
    if (!term.view.refineDims(0, endOfBatch(term), factors))
      return miss("the mask of ", term.view.base(),
                  " is broadcast in parts of batch or heads");
  cut = chooseCut();
  if (sink && (!sink->refine(factors) ||
               !sink->view.isAllBroadcast(sink->batch(0, cut)) ||
               !sink->view.isAllBroadcast(sink->rows())))
    return miss("the last score of ", Value(softmax),
                " is not one of each head");
  return success();
}

// Every cut is correct: the best moves no elements.
unsigned AttentionMatch::chooseCut() {
  unsigned preferred = factors.size();
  for (ArrayRef<int64_t> shape : {shapeOf(op.getResult()), shapeOf(input)}) {
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

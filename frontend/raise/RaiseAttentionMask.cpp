// An attention that the file has as one op: its mask is still an expression,
// and its heads may be repeated by views.
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/raise/Mask.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// Keys and values whose heads are copies: the groups alone.
struct FoldRepeatedHeads : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    View key = View::of(op.getKey()), value = View::of(op.getValue());
    if (!key.refineDims(2, 3, value.sizes(value.dims()[2])) ||
        !value.refineDims(2, 3, key.sizes(key.dims()[2])))
      return failure();
    View::Dims keyDims = key.dims(), valueDims = value.dims();
    View::Dim &keyHeads = keyDims[2], &valueHeads = valueDims[2];
    while (!keyHeads.empty() && key.atom(keyHeads.back()).broadcast &&
           value.atom(valueHeads.back()).broadcast) {
      keyHeads.pop_back();
      valueHeads.pop_back();
    }
    if (keyHeads.size() == key.dims()[2].size())
      return failure();
    Value newKey = key.emit(rewriter, op.getLoc(), keyDims);
    Value newValue = value.emit(rewriter, op.getLoc(), valueDims);
    rewriter.modifyOpInPlace(op, [&] {
      op.getKeyMutable().assign(newKey);
      op.getValueMutable().assign(newValue);
    });
    return success();
  }
};

// Takes op's bias apart; nothing where it is what it seems.
void classify(nn::AttentionOp op, MaskCache &cache) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey());
  SmallVector<int64_t> scores{query[0], query[2], query[1], key[1]};
  MaskTerms mask;
  if (!mask.addFloat(op.getBias(), 1, {}))
    return;
  // Factors of batch and heads that all terms agree on.
  ScoreDims dims{{query[0]}, {query[2]}, query[1], key[1]};
  for (MaskTerm &term : mask.terms) {
    term.view.broadcast(scores);
    for (auto [d, factors] :
         {std::pair(0u, &dims.batch), std::pair(1u, &dims.heads)}) {
      auto refined =
          commonRefinement(*factors, term.view.sizes(term.view.dims()[d]));
      if (!refined)
        return;
      *factors = *refined;
    }
  }
  for (MaskTerm &term : mask.terms)
    if (!term.view.refineDims(0, 1, dims.batch) ||
        !term.view.refineDims(1, 2, dims.heads))
      return;
  OpBuilder builder(op);
  MaskOperands operands =
      emitMask(builder, op.getLoc(), mask.terms, dims,
               typeOf(op.getResult()).getElementType(), cache);
  if (operands.keyMask && op.getKeyMask())
    operands.keyMask =
        nn::AndOp::create(builder, op.getLoc(), operands.keyMask.getType(),
                          op.getKeyMask(), operands.keyMask);
  else if (!operands.keyMask)
    operands.keyMask = op.getKeyMask();
  operands.window.narrow(KeyWindow::of(op));
  auto replacement = createAttention(
      builder, op.getLoc(),
      {op.getQuery(), op.getKey(), op.getValue(), operands.bias,
       operands.keyMask, op.getSinks(), op.getScale().convertToDouble(),
       op.getSoftcap().convertToDouble(), operands.window, op.getRateAttr(),
       op.getSiteAttr()});
  op->replaceAllUsesWith(replacement);
  op->erase();
}

} // namespace

nn::AttentionOp raise::createAttention(OpBuilder &builder, Location location,
                                       const AttentionParts &parts) {
  ArrayRef<int64_t> shape = shapeOf(parts.query);
  Type element = typeOf(parts.query).getElementType();
  auto resultType = RankedTensorType::get(
      {shape[0], shape[1], shape[2], shapeOf(parts.value)[3]}, element);
  auto sumType = RankedTensorType::get({shape[0], shape[2], shape[1]},
                                       nn::computeTypeOf(element));
  const KeyWindow &window = parts.window;
  return nn::AttentionOp::create(
      builder, location, resultType, sumType, parts.query, parts.key,
      parts.value, parts.bias, parts.keyMask, parts.sinks, Value(),
      builder.getF64FloatAttr(parts.scale),
      window.isCausal() ? builder.getUnitAttr() : UnitAttr(),
      builder.getI64IntegerAttr(window.left),
      builder.getI64IntegerAttr(window.isCausal() ? -1 : window.right),
      builder.getF64FloatAttr(parts.softcap), parts.rate, parts.site,
      IntegerAttr(), IntegerAttr());
}

void raise::classifyAttentionMasks(func::FuncOp function, MaskCache &cache) {
  SmallVector<nn::AttentionOp> masked;
  function.walk([&](nn::AttentionOp op) {
    if (op.getBias())
      masked.push_back(op);
  });
  for (nn::AttentionOp op : masked)
    classify(op, cache);
}

void raise::populateAttentionHeadPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldRepeatedHeads>(patterns.getContext());
}

LogicalResult raise::writeOutConstants(func::FuncOp function) {
  // As the importer allows, for constants that it evaluates.
  constexpr int64_t mostElements = int64_t(1) << 24;
  WalkResult result = function.walk([&](nn::ConstantOp constant) {
    auto strided = dyn_cast<nn::StridedAttr>(constant.getValue());
    if (!strided)
      return WalkResult::advance();
    int64_t elements = strided.getType().getNumElements();
    if (elements > mostElements) {
      emitError(constant.getLoc())
          << "a constant of shape " << strided.getType().getShape() << " has "
          << elements << " elements to be written out, more than the limit of "
          << mostElements
          << "; attention is masked without that where the mask is a window or "
             "one of keys: make the sequence shorter";
      return WalkResult::interrupt();
    }
    constant.setValueAttr(nn::HostTensor::fromAttribute(strided).toAttribute());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

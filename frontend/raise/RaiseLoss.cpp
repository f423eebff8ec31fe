// Cross entropy: from the log probabilities that labels pick; and the head that
// feeds it is fused with it, so that the logits never exist for the whole
// batch.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

Value behindReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

// value = the sum of all elements of the result. A sum of one folds away.
Value matchTotal(Value value) {
  if (typeOf(value).getNumElements() != 1)
    return Value();
  Value total = behindReshapes(value);
  auto sum = total.getDefiningOp<nn::ReduceSumOp>();
  return sum ? sum.getInput() : total;
}

// valid = labels that are not the ignored one, as booleans or as 0 and 1.
struct Valid {
  Value labels;
  int64_t ignored;
};
std::optional<Valid> matchValid(Value value) {
  value = behindReshapes(value);
  while (auto cast = value.getDefiningOp<nn::CastOp>())
    value = behindReshapes(cast.getInput());
  auto compare = value.getDefiningOp<nn::CompareOp>();
  auto ignored = compare ? splatValue(compare.getRhs()) : std::nullopt;
  if (!ignored || compare.getKind() != nn::CompareKind::ne)
    return std::nullopt;
  return Valid{behindReshapes(compare.getLhs()), int64_t(*ignored)};
}

// sum over rows of -log_softmax(x)[label], ignored labels left out.
struct Likelihood {
  Value logits, labels; // labels [...], logits [..., V]
  std::optional<int64_t> ignored;
};
std::optional<Likelihood> matchLikelihood(Value total) {
  Value rows = matchTotal(total);
  if (!rows)
    return std::nullopt;
  Product product = flattenProduct(rows);
  if (product.factor != -1 || product.others.empty() ||
      product.others.size() > 2)
    return std::nullopt;
  for (unsigned i = 0; i < product.others.size(); ++i) {
    auto picked =
        behindReshapes(product.others[i]).getDefiningOp<nn::GatherNdOp>();
    auto logProbabilities =
        picked ? picked.getData().getDefiningOp<nn::LogSoftmaxOp>()
               : nn::LogSoftmaxOp();
    // One label for each row.
    if (!logProbabilities ||
        int64_t(picked.getBatchDims()) + 1 !=
            typeOf(picked.getData()).getRank() ||
        shapeOf(picked.getIndices()).back() != 1 ||
        shapeOf(picked.getResult()) != shapeOf(picked.getData()).drop_back())
      continue;
    Likelihood result{logProbabilities.getInput(),
                      behindReshapes(picked.getIndices()), std::nullopt};
    // Ignored labels are read as another one, and weigh nothing.
    if (auto select = result.labels.getDefiningOp<nn::SelectOp>()) {
      auto valid = matchValid(select.getCondition());
      if (!valid || valid->labels != behindReshapes(select.getLhs()) ||
          product.others.size() != 2)
        return std::nullopt;
      auto weight = matchValid(product.others[1 - i]);
      if (!weight || weight->labels != valid->labels ||
          weight->ignored != valid->ignored)
        return std::nullopt;
      result.labels = valid->labels;
      result.ignored = valid->ignored;
    } else if (product.others.size() != 1) {
      return std::nullopt;
    }
    return result;
  }
  return std::nullopt;
}

// likelihood / number of valid labels -> the mean cross entropy.
struct RaiseMeanCrossEntropy : OpRewritePattern<nn::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::DivOp op,
                                PatternRewriter &rewriter) const override {
    auto likelihood = matchLikelihood(op.getLhs());
    if (!likelihood || op.getType().getNumElements() != 1)
      return failure();
    ArrayRef<int64_t> rows = shapeOf(likelihood->logits).drop_back();
    double count = typeOf(likelihood->labels).getNumElements();
    auto fixed = splatValue(op.getRhs());
    Value counted = matchTotal(op.getRhs());
    auto valid = counted ? matchValid(counted) : std::nullopt;
    bool all = fixed && isClose(*fixed, count) && !likelihood->ignored;
    if (!all && !(valid && valid->labels == likelihood->labels &&
                  likelihood->ignored == valid->ignored))
      return nearMiss(rewriter, op, "nn.cross_entropy", "the divisor ",
                      op.getRhs(),
                      " is not the number of labels that are not ignored");
    Location location = op.getLoc();
    auto scalar = RankedTensorType::get({}, op.getType().getElementType());
    Value labels = likelihood->labels;
    // Constants are float32: 12 is one, 1 / 12 is not.
    Value divisor =
        all ? splatConstant(rewriter, location, scalar, count) : op.getRhs();
    if (divisor.getType() != scalar)
      divisor = nn::ReshapeOp::create(rewriter, location, scalar, divisor);
    if (shapeOf(labels) != rows)
      labels = nn::ReshapeOp::create(rewriter, location,
                                     withShape(labels, rows), labels);
    Value scale = nn::ReciprocalOp::create(rewriter, location, scalar, divisor);
    auto crossEntropy = nn::CrossEntropyOp::create(
        rewriter, location, scalar, likelihood->logits, labels, scale,
        /*class_weights=*/Value(), likelihood->ignored.value_or(-100),
        /*shift=*/0,
        /*smoothing=*/APFloat(0.0));
    crossEntropy->setDiscardableAttr(nn::reductionAttr,
                                     rewriter.getStringAttr("mean"));
    Value loss = crossEntropy;
    if (op.getType() != scalar)
      loss = nn::ReshapeOp::create(rewriter, location, op.getType(), loss);
    rewriter.replaceOp(op, loss);
    return success();
  }
};

// logits = capped(scale * linear), seen through views.
struct Head {
  nn::LinearOp linear;
  View view;
  double scale, softcap;
};
std::optional<Head> matchHead(Value logits) {
  SmallVector<Operation *> path;
  double scale = 1, softcap = 0;
  while (Operation *op = logits.getDefiningOp()) {
    if (auto linear = dyn_cast<nn::LinearOp>(op)) {
      View view = View::identity(linear.getResult());
      for (Operation *each : llvm::reverse(path))
        if (!view.apply(each))
          return std::nullopt;
      return Head{linear, view, scale, softcap};
    }
    if (isViewOp(op)) {
      path.push_back(op);
      logits = op->getOperand(0);
    } else if (Value scaled = behindScale(op)) {
      scale *= scaleOf(op);
      logits = scaled;
    } else if (isa<nn::TanhOp>(op) && softcap == 0 && scale > 0 &&
               std::isfinite(scale)) {
      softcap = scale;
      logits = op->getOperand(0);
    } else {
      break;
    }
  }
  return std::nullopt;
}

// cross_entropy(linear(x, w)) -> linear_cross_entropy(x, w), with views of the
// rows between them, a scale, and a softcap.
struct FuseHead : OpRewritePattern<nn::CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyOp op,
                                PatternRewriter &rewriter) const override {
    auto head = matchHead(op.getLogits());
    if (!head)
      return failure();
    const View &view = head->view;
    nn::LinearOp linear = head->linear;
    if (view.hasBroadcast() || !view.isReshape() ||
        view.dims().back() != view.baseDims().back())
      return failure();
    // With a second user the logits exist anyway. Outputs do not count: only
    // evaluations have them.
    for (Operation *user = linear; user != op;) {
      Operation *only = nullptr;
      for (Operation *each : user->getUsers()) {
        if (isa<func::ReturnOp>(each))
          continue;
        if (only && only != each)
          return failure();
        only = each;
      }
      user = only;
    }
    // Rows in the shape of the labels: `shift` goes along their last dim.
    SmallVector<int64_t> shape(shapeOf(op.getLogits()));
    shape.back() = shapeOf(linear.getInput()).back();
    Value input = linear.getInput();
    if (shapeOf(input) != ArrayRef(shape))
      input = nn::ReshapeOp::create(rewriter, op.getLoc(),
                                    withShape(input, shape), input);
    auto scaled = [&](Value value) -> Value {
      if (!value || isClose(head->scale, 1))
        return value;
      Value factor = splatConstant(rewriter, op.getLoc(), typeOf(value),
                                   withoutFloat32Rounding(head->scale));
      return nn::MulOp::create(rewriter, op.getLoc(), value.getType(), value,
                               factor);
    };
    rewriter.replaceOpWithNewOp<nn::LinearCrossEntropyOp>(
        op, op.getLoss().getType(), scaled(input), linear.getWeight(),
        scaled(linear.getBias()), op.getLabels(), op.getScale(),
        op.getClassWeights(), op.getIgnoreIndexAttr(), op.getShiftAttr(),
        linear.getTransposeWeightAttr(),
        rewriter.getF64FloatAttr(head->softcap), op.getSmoothingAttr());
    return success();
  }
};

} // namespace

void raise::populateLossPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseMeanCrossEntropy>(patterns.getContext());
}

void raise::populateFusedLossPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseHead>(patterns.getContext());
}

// layer_norm, rms_norm, softmax and log_softmax from their arithmetic. A norm
// is raised in two steps: first the normalisation with a gamma of ones, then
// gamma and beta are folded in, in whatever order the graph multiplies.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

RankedTensorType statisticsType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  return RankedTensorType::get(shape, type.getElementType());
}

// value = sqrt(x).
Value matchSqrt(Value value) {
  value = skipFloatCasts(value);
  if (auto sqrt = value.getDefiningOp<nn::SqrtOp>())
    return sqrt.getInput();
  if (auto pow = value.getDefiningOp<nn::PowOp>();
      pow && splatValue(pow.getRhs()) == 0.5)
    return pow.getLhs();
  return Value();
}

// value = 1 / sqrt(x).
Value matchRsqrt(Value value) {
  value = skipFloatCasts(value);
  if (auto rsqrt = value.getDefiningOp<nn::RsqrtOp>())
    return rsqrt.getInput();
  if (auto reciprocal = value.getDefiningOp<nn::ReciprocalOp>())
    return matchSqrt(reciprocal.getInput());
  if (auto div = value.getDefiningOp<nn::DivOp>();
      div && isSplat(div.getLhs(), 1))
    return matchSqrt(div.getRhs());
  if (auto pow = value.getDefiningOp<nn::PowOp>();
      pow && splatValue(pow.getRhs()) == -0.5)
    return pow.getLhs();
  return Value();
}

// The repetition along the last dim may stand before or after the root.
template <typename Match> Value matchRepeated(Value value, Match match) {
  if (Value narrow = repeatedAlongLastDim(value))
    if (Value inner = match(narrow))
      return inner;
  Value inner = match(value);
  return inner ? repeatedAlongLastDim(inner) : Value();
}

// normalized * (1 / sqrt(mean(normalized^2) + epsilon)).
LogicalResult raiseNorm(Operation *op, Value normalized, Value radicand,
                        PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  normalized = skipFloatCasts(normalized);
  Sum sum = flattenSum(radicand);
  Value squares, x;
  auto miss = [&](const auto &...why) {
    return nearMiss(rewriter, op, "nn.layer_norm or nn.rms_norm", why...);
  };
  if (sum.others.size() != 1 || sum.offset < 0)
    return miss("under the root stands no mean + epsilon but ", radicand);
  if (!isMeanOverLastDim(sum.others[0], squares))
    return miss("under the root stands ", sum.others[0],
                ", which is no mean over the last dim");
  if (!isSquare(squares, x))
    return miss("the mean is not one of squares but of ", squares);
  if (x != normalized)
    return miss("the root is that of ", x, ", what is divided by it is ",
                normalized);
  if (x.getType() != type)
    return miss("the statistics are of type ", x.getType(), ", the result is ",
                type);
  double epsilon = withoutFloat32Rounding(sum.offset);
  Value gamma = onesVector(rewriter, op->getLoc(), type);
  auto difference = x.getDefiningOp<nn::SubOp>();
  Value centre =
            difference ? repeatedAlongLastDim(difference.getRhs()) : Value(),
        averaged;
  if (centre && isMeanOverLastDim(centre, averaged) &&
      averaged == skipFloatCasts(difference.getLhs()) &&
      averaged.getType() == type) {
    auto norm = nn::LayerNormOp::create(
        rewriter, op->getLoc(), type, statisticsType(type),
        statisticsType(type), averaged, gamma, Value(),
        rewriter.getF64FloatAttr(epsilon));
    rewriter.replaceOp(op, norm.getResult());
    return success();
  }
  auto norm =
      nn::RmsNormOp::create(rewriter, op->getLoc(), type, statisticsType(type),
                            x, gamma, rewriter.getF64FloatAttr(epsilon));
  rewriter.replaceOp(op, norm.getResult());
  return success();
}

struct RaiseNormOfProduct : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MulOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    return matchCommutative(op, [&](Value x, Value factor) {
      if (Value radicand = matchRepeated(factor, matchRsqrt))
        if (succeeded(raiseNorm(op, x, radicand, rewriter)))
          return success();
      return failure();
    });
  }
};

struct RaiseNormOfQuotient : OpRewritePattern<nn::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::DivOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    Value radicand = matchRepeated(op.getRhs(), matchSqrt);
    return radicand ? raiseNorm(op, op.getLhs(), radicand, rewriter)
                    : failure();
  }
};

// A vector along the whole last dim.
std::optional<View> matchVector(Value value) {
  auto view = alongLastDim(value);
  if (!view || llvm::any_of(view->dims().back(), [&](unsigned atom) {
        return view->atom(atom).broadcast;
      }))
    return std::nullopt;
  return view;
}

// norm(x, ones) * gamma.
struct FoldGamma : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MulOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    return matchCommutative(op, [&](Value a, Value b) {
      Operation *norm = skipFloatCasts(a).getDefiningOp();
      if (!isa_and_nonnull<nn::LayerNormOp, nn::RmsNormOp>(norm) ||
          !isSplat(norm->getOperand(1), 1) ||
          !norm->getOperand(1).getDefiningOp<nn::ConstantOp>() ||
          norm->getResult(0).getType() != op.getType())
        return failure();
      if (auto layerNorm = dyn_cast<nn::LayerNormOp>(norm);
          layerNorm && layerNorm.getBeta())
        return failure();
      auto vector = matchVector(skipFloatCasts(b));
      if (!vector || typeOf(vector->base()).getElementType() !=
                         op.getType().getElementType())
        return failure();
      Value gamma = emitVector(rewriter, op.getLoc(), *vector);
      if (auto layerNorm = dyn_cast<nn::LayerNormOp>(norm))
        rewriter.replaceOp(
            op, nn::LayerNormOp::create(rewriter, op.getLoc(),
                                        layerNorm->getResultTypes(),
                                        ValueRange{layerNorm.getInput(), gamma},
                                        layerNorm->getAttrs())
                    .getResult());
      else
        rewriter.replaceOp(
            op, nn::RmsNormOp::create(
                    rewriter, op.getLoc(), norm->getResultTypes(),
                    ValueRange{norm->getOperand(0), gamma}, norm->getAttrs())
                    .getResult());
      return success();
    });
  }
};

// layer_norm(x, gamma) + beta.
struct FoldBeta : OpRewritePattern<nn::AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AddOp op,
                                PatternRewriter &rewriter) const override {
    return matchCommutative(op, [&](Value a, Value b) {
      auto norm = a.getDefiningOp<nn::LayerNormOp>();
      if (!norm || norm.getBeta() || a != norm.getResult() || !isWeightLike(b))
        return failure();
      auto vector = matchVector(b);
      if (!vector)
        return failure();
      Value beta = emitVector(rewriter, op.getLoc(), *vector);
      rewriter.replaceOp(op,
                         nn::LayerNormOp::create(
                             rewriter, op.getLoc(), norm->getResultTypes(),
                             ValueRange{norm.getInput(), norm.getGamma(), beta},
                             norm->getAttrs())
                             .getResult());
      return success();
    });
  }
};

bool isOverLastDim(Value input, ArrayRef<int64_t> dims) {
  return dims.size() == 1 && dims[0] == typeOf(input).getRank() - 1;
}

// exponential = e^(x - shift), shift being x's maximum or nothing: softmax does
// not change with it.
Value matchExponent(Value exponential) {
  auto exp = exponential.getDefiningOp<nn::ExpOp>();
  if (!exp)
    return Value();
  auto difference = exp.getInput().getDefiningOp<nn::SubOp>();
  Value shift =
      difference ? repeatedAlongLastDim(difference.getRhs()) : Value();
  auto maximum =
      shift ? shift.getDefiningOp<nn::ReduceMaxOp>() : nn::ReduceMaxOp();
  if (maximum && maximum.getInput() == difference.getLhs() &&
      isOverLastDim(maximum.getInput(), maximum.getDims()))
    return difference.getLhs();
  return exp.getInput();
}

// value = the sum of `terms` over the last dim.
bool isSumOf(Value value, Value terms) {
  auto sum = value.getDefiningOp<nn::ReduceSumOp>();
  return sum && sum.getInput() == terms && isOverLastDim(terms, sum.getDims());
}

struct RaiseSoftmaxOfQuotient : OpRewritePattern<nn::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::DivOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    Value x = matchExponent(op.getLhs()),
          sum = repeatedAlongLastDim(op.getRhs());
    if (!x)
      return failure();
    if (!sum || !isSumOf(sum, op.getLhs())) {
      if (!sum || !sum.getDefiningOp<nn::ReduceSumOp>())
        return failure();
      return nearMiss(rewriter, op, "nn.softmax", "the divisor ", sum,
                      " is not the sum of the dividend over the last dim");
    }
    rewriter.replaceOpWithNewOp<nn::SoftmaxOp>(op, op.getType(), x);
    return success();
  }
};

struct RaiseSoftmaxOfProduct : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MulOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    return matchCommutative(op, [&](Value a, Value b) {
      Value x = matchExponent(a),
            factor = x ? repeatedAlongLastDim(b) : Value();
      auto reciprocal = factor ? factor.getDefiningOp<nn::ReciprocalOp>()
                               : nn::ReciprocalOp();
      if (!reciprocal || !isSumOf(reciprocal.getInput(), a))
        return failure();
      rewriter.replaceOpWithNewOp<nn::SoftmaxOp>(op, op.getType(), x);
      return success();
    });
  }
};

struct RaiseLogOfSoftmax : OpRewritePattern<nn::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LogOp op,
                                PatternRewriter &rewriter) const override {
    auto softmax = op.getInput().getDefiningOp<nn::SoftmaxOp>();
    if (!softmax)
      return failure();
    rewriter.replaceOpWithNewOp<nn::LogSoftmaxOp>(op, op.getType(),
                                                  softmax.getInput());
    return success();
  }
};

// y - log(sum(e^y)), y = x - max(x) or x.
struct RaiseLogSoftmax : OpRewritePattern<nn::SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SubOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() == 0)
      return failure();
    Value narrow = repeatedAlongLastDim(op.getRhs());
    auto log = narrow ? narrow.getDefiningOp<nn::LogOp>() : nn::LogOp();
    auto sum = log ? log.getInput().getDefiningOp<nn::ReduceSumOp>()
                   : nn::ReduceSumOp();
    auto exp = sum ? sum.getInput().getDefiningOp<nn::ExpOp>() : nn::ExpOp();
    if (!exp || exp.getInput() != op.getLhs() || !isSumOf(sum, exp))
      return failure();
    rewriter.replaceOpWithNewOp<nn::LogSoftmaxOp>(op, op.getType(),
                                                  matchExponent(exp));
    return success();
  }
};

} // namespace

void raise::populateNormalizationPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseNormOfProduct, RaiseNormOfQuotient, FoldGamma, FoldBeta,
               RaiseSoftmaxOfQuotient, RaiseSoftmaxOfProduct, RaiseLogOfSoftmax,
               RaiseLogSoftmax>(patterns.getContext());
}

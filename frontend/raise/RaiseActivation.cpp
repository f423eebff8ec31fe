// gelu, silu, sigmoid and log_sigmoid from their arithmetic, in any algebraic
// form that the exporters leave behind.
#include "frontend/raise/Match.h"
#include "frontend/raise/Raise.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// Value is offset + slope * f(argument), f being erf or tanh.
struct Gate {
  double offset, slope;
  bool tanh;
  Value argument;
};

std::optional<Gate> matchGate(Value value) {
  Sum sum = flattenSum(value);
  if (sum.others.size() != 1 || sum.offset == 0)
    return std::nullopt;
  Product product = flattenProduct(sum.others[0]);
  if (product.others.size() != 1)
    return std::nullopt;
  Operation *op = product.others[0].getDefiningOp();
  if (!isa_and_nonnull<nn::ErfOp, nn::TanhOp>(op))
    return std::nullopt;
  return Gate{sum.offset, product.factor, isa<nn::TanhOp>(op),
              op->getOperand(0)};
}

bool isGeluArgument(const Gate &gate, Value x) {
  auto c = asPolynomial(gate.argument, x);
  if (!c || (*c)[0] != 0 || (*c)[2] != 0)
    return false;
  if (!gate.tanh)
    return (*c)[3] == 0 && isClose((*c)[1], std::sqrt(0.5));
  double linear = std::sqrt(2 / M_PI);
  return isClose((*c)[1], linear) && isClose((*c)[3], linear * 0.044715);
}

// x/2 (1 + erf(x/sqrt 2)) or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the
// factors in any order and grouping.
struct RaiseGelu : RewritePattern {
  RaiseGelu(MLIRContext *context, StringRef root)
      : RewritePattern(root, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    // x is one of the values under the product; the gate is another.
    SmallVector<Value> nodes;
    collect(result, nodes, 3);
    Value misfit;
    for (Value node : nodes) {
      auto gate = matchGate(node);
      if (!gate)
        continue;
      misfit = node;
      for (Value candidate : nodes) {
        Value x = skipFloatCasts(candidate);
        if (x == node || x == result || x.getType() != result.getType() ||
            !isGeluArgument(*gate, x))
          continue;
        Product product = flattenProduct(result, x);
        if (product.others.size() != 2 ||
            !llvm::is_contained(product.others, x) ||
            !llvm::is_contained(product.others, skipFloatCasts(node)) ||
            !isClose(gate->offset, gate->slope) ||
            !isClose(product.factor * gate->offset, 0.5))
          continue;
        auto gelu =
            nn::GeluOp::create(rewriter, op->getLoc(), result.getType(), x);
        gelu.setTanh(gate->tanh);
        rewriter.replaceOp(op, gelu);
        return success();
      }
    }
    return misfit ? nearMiss(rewriter, op, "nn.gelu",
                             "no factor x has half of ", misfit,
                             " as 1 + erf(x / sqrt(2)) or 1 + tanh(sqrt(2 / "
                             "pi) (x + 0.044715 x^3))")
                  : failure();
  }

  static void collect(Value value, SmallVectorImpl<Value> &nodes,
                      unsigned depth) {
    Operation *op = skipFloatCasts(value).getDefiningOp();
    if (depth == 0 || !isa_and_nonnull<nn::MulOp, nn::DivOp, nn::NegOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      nodes.push_back(operand);
      collect(operand, nodes, depth - 1);
    }
  }
};

// value = 1 + e^-x.
Value matchOnePlusExpMinus(Value value) {
  Sum sum = flattenSum(value);
  if (sum.others.size() != 1 || !isClose(sum.offset, 1))
    return Value();
  auto exp = sum.others[0].getDefiningOp<nn::ExpOp>();
  if (!exp)
    return Value();
  if (auto neg = exp.getInput().getDefiningOp<nn::NegOp>())
    return neg.getInput();
  auto mul = exp.getInput().getDefiningOp<nn::MulOp>();
  if (mul && isSplat(mul.getRhs(), -1))
    return mul.getLhs();
  if (mul && isSplat(mul.getLhs(), -1))
    return mul.getRhs();
  return Value();
}

struct RaiseSigmoid : OpRewritePattern<nn::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::DivOp op,
                                PatternRewriter &rewriter) const override {
    Value x = matchOnePlusExpMinus(op.getRhs());
    if (!x || x.getType() != op.getType())
      return failure();
    if (isSplat(op.getLhs(), 1))
      rewriter.replaceOpWithNewOp<nn::SigmoidOp>(op, op.getType(), x);
    else if (op.getLhs() == x)
      rewriter.replaceOpWithNewOp<nn::SiluOp>(op, op.getType(), x);
    else
      return failure();
    return success();
  }
};

struct RaiseSigmoidOfReciprocal : OpRewritePattern<nn::ReciprocalOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReciprocalOp op,
                                PatternRewriter &rewriter) const override {
    Value x = matchOnePlusExpMinus(op.getInput());
    if (!x || x.getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<nn::SigmoidOp>(op, op.getType(), x);
    return success();
  }
};

struct RaiseSilu : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MulOp op,
                                PatternRewriter &rewriter) const override {
    return matchCommutative(op, [&](Value a, Value b) {
      auto sigmoid = skipFloatCasts(b).getDefiningOp<nn::SigmoidOp>();
      Value x = skipFloatCasts(a);
      if (!sigmoid || skipFloatCasts(sigmoid.getInput()) != x ||
          x.getType() != op.getType())
        return failure();
      rewriter.replaceOpWithNewOp<nn::SiluOp>(op, op.getType(), x);
      return success();
    });
  }
};

// value = sigmoid(x), or 1 - sigmoid(x) = sigmoid(-x); `negated` says which.
Value matchSigmoid(Value value, bool &negated) {
  auto sigmoid = value.getDefiningOp<nn::SigmoidOp>();
  negated = !sigmoid;
  if (auto difference = value.getDefiningOp<nn::SubOp>();
      difference && isSplat(difference.getLhs(), 1))
    sigmoid = difference.getRhs().getDefiningOp<nn::SigmoidOp>();
  return sigmoid ? sigmoid.getInput() : Value();
}

// log(sigmoid(x)) = -log(1 + e^-x), which is finite where sigmoid(x) is too
// small for a float: how exporters write log_sigmoid and binary cross entropy.
struct RaiseLogSigmoid : OpRewritePattern<nn::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LogOp op,
                                PatternRewriter &rewriter) const override {
    bool negated;
    Value x = matchSigmoid(op.getInput(), negated);
    if (!x)
      return failure();
    if (!negated)
      x = nn::NegOp::create(rewriter, op.getLoc(), op.getType(), x);
    Value softplus =
        nn::SoftplusOp::create(rewriter, op.getLoc(), op.getType(), x);
    rewriter.replaceOpWithNewOp<nn::NegOp>(op, op.getType(), softplus);
    return success();
  }
};

} // namespace

void raise::populateActivationPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<RaiseGelu>(context, nn::MulOp::getOperationName());
  patterns.add<RaiseGelu>(context, nn::DivOp::getOperationName());
  patterns
      .add<RaiseSigmoid, RaiseSigmoidOfReciprocal, RaiseSilu, RaiseLogSigmoid>(
          context);
}

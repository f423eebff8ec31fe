// Matrix products.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> weightShape(int64_t in, int64_t out,
                                        bool transposed) {
  return transposed ? SmallVector<int64_t>{out, in}
                    : SmallVector<int64_t>{in, out};
}

LogicalResult MatMulOp::verify() {
  if (failed(expectRankAtLeast(*this, "lhs", getLhs(), 2)))
    return failure();
  ArrayRef<int64_t> lhs = shapeOf(getLhs());
  const int64_t rank = lhs.size();
  const int64_t m = lhs[rank - (getTransposeLhs() ? 1 : 2)],
                k = lhs[rank - (getTransposeLhs() ? 2 : 1)];
  if (failed(expectRank(*this, "rhs", getRhs(), rank)))
    return failure();
  const int64_t n = shapeOf(getRhs())[rank - (getTransposeRhs() ? 2 : 1)];
  SmallVector<int64_t> rhs(lhs.drop_back(2)), result(rhs);
  rhs.append({getTransposeRhs() ? n : k, getTransposeRhs() ? k : n});
  result.append({m, n});
  if (failed(expectType(*this, "rhs", getRhs(), rhs, elementTypeOf(getLhs()))))
    return failure();
  return expectType(*this, "result", getResult(), result,
                    elementTypeOf(getLhs()));
}

LogicalResult LinearOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectRank(*this, "weight", getWeight(), 2)))
    return failure();
  const int64_t in = shapeOf(getInput()).back();
  const int64_t out = shapeOf(getWeight())[getTransposeWeight() ? 0 : 1];
  Type element = elementTypeOf(getInput());
  SmallVector<int64_t> result(shapeOf(getInput()).drop_back());
  result.push_back(out);
  if (failed(expectType(*this, "weight", getWeight(),
                        weightShape(in, out, getTransposeWeight()), element)) ||
      (getBias() &&
       failed(expectType(*this, "bias", getBias(), {out}, element))))
    return failure();
  return expectType(*this, "result", getResult(), result, element);
}

LogicalResult LinearWeightGradOp::verify() {
  if (failed(expectRankAtLeast(*this, "input", getInput(), 1)) ||
      failed(expectRankAtLeast(*this, "gradient", getGradient(), 1)))
    return failure();
  const int64_t in = shapeOf(getInput()).back(),
                out = shapeOf(getGradient()).back();
  SmallVector<int64_t> gradient(shapeOf(getInput()).drop_back());
  gradient.push_back(out);
  Type element = elementTypeOf(getInput());
  if (failed(expectType(*this, "gradient", getGradient(), gradient, element)))
    return failure();
  return expectType(*this, "result", getResult(),
                    weightShape(in, out, getTransposeWeight()), element);
}

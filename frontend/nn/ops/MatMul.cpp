// Matrix products.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
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
  return expectTypeOrWide(*this, "result", getResult(), result,
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
       failed(expectType(*this, "bias", getBias(), {out}, element))) ||
      (getResidual() &&
       failed(expectType(*this, "residual", getResidual(), result, element))))
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
  if (failed(expectType(*this, "gradient", getGradient(), gradient, element)) ||
      failed(expectTypeOrWide(*this, "result", getResult(),
                              weightShape(in, out, getTransposeWeight()),
                              element)))
    return failure();
  return getBiasGradient()
             ? expectType(*this, "bias_gradient", getBiasGradient(), {out},
                          elementTypeOf(getResult()))
             : success();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
MatMulOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  // C = A' B', with A' = A or its transpose: dA' = dC B'^T and dB' = A'^T dC,
  // each written for A and B as they are stored.
  Value lhs = getLhs(), rhs = getRhs(), dy = resultGradients[0];
  const bool left = getTransposeLhs(), right = getTransposeRhs();
  auto multiply = [&](Value like, Value a, Value b, bool transposeA,
                      bool transposeB) -> Value {
    return MatMulOp::create(builder, getLoc(), like.getType(), a, b, transposeA,
                            transposeB);
  };
  operandGradients.assign(2, Value());
  if (needed[0])
    operandGradients[0] = left ? multiply(lhs, rhs, dy, right, true)
                               : multiply(lhs, dy, rhs, false, !right);
  if (needed[1])
    operandGradients[1] = right ? multiply(rhs, dy, lhs, true, left)
                                : multiply(rhs, lhs, dy, !left, false);
  return success();
}

LogicalResult
LinearOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                        ArrayRef<bool> needed,
                        SmallVectorImpl<Value> &operandGradients) {
  Formula f(builder, getLoc());
  Value dy = resultGradients[0];
  operandGradients.assign(needed.size(), Value());
  // The weight read the other way maps back from outputs to inputs.
  if (needed[0])
    operandGradients[0] =
        LinearOp::create(builder, getLoc(), getInput().getType(), dy,
                         getWeight(), /*bias=*/Value(), !getTransposeWeight());
  if (needed[1])
    operandGradients[1] =
        LinearWeightGradOp::create(builder, getLoc(), getWeight().getType(),
                                   getInput(), dy, getTransposeWeight())
            .getResult();
  if (getBias() && needed[2]) {
    auto rows =
        llvm::to_vector(llvm::seq<int64_t>(0, tensorType(dy).getRank() - 1));
    operandGradients[2] = f.reshape(f.reduceSum(dy, rows), shapeOf(getBias()));
  }
  if (getResidual() && needed.back())
    operandGradients.back() = dy;
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t MatMulOp::flops() {
  return 2 * tensorType(getResult()).getNumElements() *
         shapeOf(getLhs())[tensorType(getLhs()).getRank() -
                           (getTransposeLhs() ? 2 : 1)];
}

int64_t LinearOp::flops() {
  const int64_t results = tensorType(getResult()).getNumElements();
  return 2 * results * shapeOf(getInput()).back() + (getBias() ? results : 0) +
         (getResidual() ? results : 0);
}

int64_t LinearWeightGradOp::flops() {
  return 2 * tensorType(getInput()).getNumElements() *
             shapeOf(getGradient()).back() +
         (getBiasGradient() ? tensorType(getGradient()).getNumElements() : 0);
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

using Floats = HostTensor::Floats;

/// `tensor` with its last two dims exchanged if `transpose`, in row-major
/// order.
static Floats readMatrices(const HostTensor &tensor, bool transpose) {
  if (!transpose)
    return tensor.toFloats();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensor.rank()));
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return tensor.transposed(order).toFloats();
}

/// result[m, n] = lhs[m, k] rhs[k, n], `batch` times.
static Floats multiply(const Floats &lhs, const Floats &rhs, int64_t batch,
                       int64_t m, int64_t k, int64_t n) {
  Floats result(batch * m * n, 0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t inner = 0; inner < k; ++inner) {
        const double factor = lhs[(b * m + row) * k + inner];
        const double *from = &rhs[(b * k + inner) * n];
        double *to = &result[(b * m + row) * n];
        for (int64_t column = 0; column < n; ++column)
          to[column] += factor * from[column];
      }
  return result;
}

LogicalResult MatMulOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const ArrayRef<int64_t> shape = type.getShape();
  const int64_t m = shape[shape.size() - 2], n = shape.back();
  const int64_t k =
      operands[0].shape()[shape.size() - (getTransposeLhs() ? 2 : 1)];
  results.push_back(HostTensor::floats(
      type, multiply(readMatrices(operands[0], getTransposeLhs()),
                     readMatrices(operands[1], getTransposeRhs()),
                     product(shape.drop_back(2)), m, k, n)));
  return success();
}

LogicalResult LinearOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  auto type = tensorType(getResult());
  const int64_t rows = product(type.getShape().drop_back()),
                in = shapeOf(getInput()).back();
  const int64_t out = type.getShape().back();
  Floats values = multiply(operands[0].toFloats(),
                           readMatrices(operands[1], getTransposeWeight()), 1,
                           rows, in, out);
  if (getBias()) {
    const Floats bias = operands[2].toFloats();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += bias[i % out];
  }
  if (getResidual()) {
    const Floats residual = operands.back().toFloats();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += residual[i];
  }
  results.push_back(HostTensor::floats(type, std::move(values)));
  return success();
}

LogicalResult
LinearWeightGradOp::evaluate(ArrayRef<HostTensor> operands,
                             SmallVectorImpl<HostTensor> &results) {
  const int64_t in = shapeOf(getInput()).back(),
                out = shapeOf(getGradient()).back();
  const int64_t rows = product(shapeOf(getInput()).drop_back());
  const HostTensor input = operands[0].reshaped({rows, in}),
                   gradient = operands[1].reshaped({rows, out});
  const bool transpose = getTransposeWeight();
  const HostTensor &left = transpose ? gradient : input,
                   &right = transpose ? input : gradient;
  results.push_back(
      HostTensor::floats(tensorType(getResult()),
                         multiply(readMatrices(left, true), right.toFloats(), 1,
                                  left.shape()[1], rows, right.shape()[1])));
  if (getBiasGradient())
    results.push_back(HostTensor::floats(
        tensorType(getBiasGradient()),
        multiply(Floats(rows, 1), gradient.toFloats(), 1, 1, rows, out)));
  return success();
}

// Attention and rotary positions.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// What attention and its gradient have in common: query, key, value, bias,
/// key_mask, log_sum_exp.
template <typename Op> static LogicalResult verifyAttention(Op op) {
  if (failed(expectRank(op, "query", op.getQuery(), 4)) ||
      failed(expectRank(op, "key", op.getKey(), 4)) ||
      failed(expectRank(op, "value", op.getValue(), 4)))
    return failure();
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey()),
                    value = shapeOf(op.getValue());
  Type element = elementTypeOf(op.getQuery());
  if (failed(expectType(op, "key", op.getKey(),
                        {query[0], key[1], key[2], query[3]}, element)) ||
      failed(expectType(op, "value", op.getValue(),
                        {query[0], key[1], key[2], value[3]}, element)) ||
      failed(expectShape(op, "log_sum_exp", op.getLogSumExp(),
                         {query[0], query[2], query[1]})))
    return failure();
  if (key[2] == 0 || query[2] % key[2] != 0)
    return op.emitOpError("expects the number of query heads to be a multiple "
                          "of the key heads ")
           << key[2] << ", got " << query[2];
  if (Value mask = op.getKeyMask())
    if (failed(expectShape(op, "key_mask", mask, {query[0], key[1]})))
      return failure();
  Value bias = op.getBias();
  if (!bias)
    return success();
  if (failed(expectRank(op, "bias", bias, 4)) ||
      failed(expectElementType(op, "bias", bias, element)))
    return failure();
  const int64_t full[4] = {query[0], query[2], query[1], key[1]};
  for (int64_t dim = 0; dim < 4; ++dim) {
    const int64_t size = shapeOf(bias)[dim];
    if (size != full[dim] && (size != 1 || dim == 3))
      return op.emitOpError("expects dim ")
             << dim << " of bias to be " << full[dim]
             << (dim == 3 ? "" : " or 1") << ", got " << size;
  }
  return success();
}

/// [B, Sq, H, E]: what attention returns.
template <typename Op> static SmallVector<int64_t> attentionShape(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  return {query[0], query[1], query[2], shapeOf(op.getValue())[3]};
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  return expectType(*this, "result", getResult(), attentionShape(*this),
                    elementTypeOf(getQuery()));
}

LogicalResult AttentionGradOp::verify() {
  Type element = elementTypeOf(getQuery());
  if (failed(verifyAttention(*this)) ||
      failed(expectType(*this, "gradient", getGradient(), attentionShape(*this),
                        element)) ||
      failed(expectType(*this, "output", getOutput(), attentionShape(*this),
                        element)) ||
      failed(expectType(*this, "query_gradient", getQueryGradient(),
                        shapeOf(getQuery()), element)) ||
      failed(expectType(*this, "key_gradient", getKeyGradient(),
                        shapeOf(getKey()), element)))
    return failure();
  return expectType(*this, "value_gradient", getValueGradient(),
                    shapeOf(getValue()), element);
}

LogicalResult RopeOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), 4)) ||
      failed(expectRank(*this, "cos", getCos(), 3)))
    return failure();
  ArrayRef<int64_t> input = shapeOf(getInput());
  if (input[3] % 2 != 0)
    return emitOpError("expects an even head_dim, got ") << input[3];
  const int64_t batch = shapeOf(getCos())[0] == 1 ? 1 : input[0];
  Type element = elementTypeOf(getInput());
  if (failed(expectType(*this, "cos", getCos(), {batch, input[1], input[3]},
                        element)) ||
      failed(expectType(*this, "sin", getSin(), shapeOf(getCos()), element)))
    return failure();
  return expectType(*this, "result", getResult(), input, element);
}

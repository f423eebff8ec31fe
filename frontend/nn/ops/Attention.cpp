// Attention.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/AttentionSizes.h"
#include "frontend/nn/support/DrawnWords.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult verifyDrawing(Op op) {
  if (op.getRate().has_value() != op.getSite().has_value())
    return op.emitOpError("expects a rate and a site, or neither");
  if (op.getRate())
    if (double rate = op.getRate()->convertToDouble();
        !(rate >= 0 && rate <= 1))
      return op.emitOpError("expects a rate in [0, 1], got ") << rate;
  if (!op.getWords())
    return success();
  if (op.getRate())
    return op.emitOpError("expects words or a rate, got both");
  SmallVector<int64_t, 4> square = squareShape(op);
  const int64_t stride = op.getSampleStride();
  if (failed(expectPlaced(op, op.getWords(), op.getSamples(), stride,
                          product(square))))
    return failure();
  if (square[3] != 0 && stride % square[3] != 0)
    return op.emitOpError("expects samples that have rows of ")
           << square[3] << " keys, got a stride of " << stride;
  return success();
}

/// What attention and its gradient have in common: query, key, value, bias,
/// key_mask, sinks, words, log_sum_exp.
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
      failed(expectType(op, "log_sum_exp", op.getLogSumExp(),
                        {query[0], query[2], query[1]},
                        computeTypeOf(element))))
    return failure();
  if (key[2] == 0 || query[2] % key[2] != 0)
    return op.emitOpError("expects the number of query heads to be a multiple "
                          "of the key heads ")
           << key[2] << ", got " << query[2];
  for (int64_t size : {op.getLeft(), op.getRight()})
    if (size < -1)
      return op.emitOpError("expects left and right to be -1, which is all "
                            "keys, or more, got ")
             << size;
  if (op.getCausal() && int64_t(op.getRight()) != -1)
    return op.emitOpError("expects no right where it is causal, got ")
           << op.getRight();
  if (failed(expectSoftcap(op, op.getSoftcap())) || failed(verifyDrawing(op)))
    return failure();
  if (Value mask = op.getKeyMask())
    if (failed(expectShape(op, "key_mask", mask, {query[0], key[1]})))
      return failure();
  if (Value sinks = op.getSinks())
    if (failed(expectTypeOrWide(op, "sinks", sinks, {query[2]}, element)))
      return failure();
  Value bias = op.getBias();
  if (!bias)
    return success();
  if (failed(expectRank(op, "bias", bias, 4)) ||
      failed(expectTypeOrWide(op, "bias", bias, shapeOf(bias), element)))
    return failure();
  SmallVector<int64_t, 4> full = squareShape(op);
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

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
AttentionOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           SmallVectorImpl<Value> &operandGradients) {
  if (resultGradients[1])
    return emitOpError("has no gradient of its log_sum_exp");
  if (getBias() && needed[3])
    return emitOpError("has no gradient of its bias; keep a trained bias out "
                       "of attention, or freeze it");
  operandGradients.assign(needed.size(), Value());
  auto gradients = AttentionGradOp::create(
      builder, getLoc(), getQuery().getType(), getKey().getType(),
      getValue().getType(), resultGradients[0], getQuery(), getKey(),
      getValue(), getResult(), getLogSumExp(), getBias(), getKeyMask(),
      getSinks(), getWords(), getScaleAttr(), getCausalAttr(), getLeftAttr(),
      getRightAttr(), getSoftcapAttr(), getRateAttr(), getSiteAttr(),
      getSamplesAttr(), getSampleStrideAttr());
  operandGradients[0] = gradients.getQueryGradient();
  operandGradients[1] = gradients.getKeyGradient();
  operandGradients[2] = gradients.getValueGradient();
  constexpr unsigned sinksOperand = 5;
  auto [sinks, present] = getODSOperandIndexAndLength(sinksOperand);
  if (present && needed[sinks]) {
    // A sink's probability, which no value meets: dS = P (0 - sum(dO O)).
    Formula f(builder, getLoc());
    Type sums = elementTypeOf(getLogSumExp());
    ArrayRef<int64_t> rows = shapeOf(getLogSumExp());
    Value delta = f.reduceSum(
        f.mul(f.cast(resultGradients[0], sums), f.cast(getResult(), sums)),
        {3});
    delta = f.reshape(f.transpose(delta, {0, 2, 1, 3}), rows);
    Value sink = f.reshape(f.cast(getSinks(), sums), {1, rows[1], 1});
    Value probability =
        f.exp(f.sub(f.broadcast(sink, getLogSumExp()), getLogSumExp()));
    Value ofHeads = f.reduceSum(f.mul(probability, f.neg(delta)), {0, 2});
    operandGradients[sinks] = f.cast(f.reshape(ofHeads, shapeOf(getSinks())),
                                     elementTypeOf(getSinks()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Site
//===----------------------------------------------------------------------===//

/// Samples that lie in one of queries' dims lie in the one of scores that it
/// becomes.
template <typename Op>
static int64_t drawnStrideOf(Op op, int64_t stride, int64_t samples) {
  SmallVector<int64_t, 4> square = squareShape(op);
  const int64_t dim = shapeOf(op.getQuery())[3], heads = square[1],
                queries = square[2], keys = square[3];
  const int64_t position = heads * dim, batch = queries * position;
  if (stride == 0 || product(square) == 0)
    return 0;
  if (stride % batch == 0)
    return stride / batch * heads * queries * keys;
  if (stride % position == 0 && batch % (stride * samples) == 0)
    return stride / position * keys;
  if (stride % dim == 0 && position % (stride * samples) == 0)
    return stride / dim * queries * keys;
  const int64_t elements = product(square);
  return elements % (samples * keys) == 0 ? elements / samples : 0;
}

template <typename Op>
static void placeAt(Op op, Value words, int64_t samples, int64_t stride) {
  op.getWordsMutable().assign(words);
  op.removeRateAttr();
  op.removeSiteAttr();
  op.setSamples(stride ? samples : 0);
  op.setSampleStride(stride);
}

bool AttentionOp::isDrawing() { return getSite().has_value(); }
int64_t AttentionOp::drawnSite() { return *getSite(); }
Value AttentionOp::sampledLike() { return getQuery(); }
int64_t AttentionOp::drawnStride(int64_t stride, int64_t samples) {
  return drawnStrideOf(*this, stride, samples);
}
bool AttentionOp::samplesComeFirst() { return false; }
FloatAttr AttentionOp::droppedShare() { return getRateAttr(); }
void AttentionOp::keepAll() {
  removeRateAttr();
  removeSiteAttr();
}
void AttentionOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
}

bool AttentionGradOp::isDrawing() { return getSite().has_value(); }
int64_t AttentionGradOp::drawnSite() { return *getSite(); }
Value AttentionGradOp::sampledLike() { return getQuery(); }
int64_t AttentionGradOp::drawnStride(int64_t stride, int64_t samples) {
  return drawnStrideOf(*this, stride, samples);
}
bool AttentionGradOp::samplesComeFirst() { return false; }
FloatAttr AttentionGradOp::droppedShare() { return getRateAttr(); }
void AttentionGradOp::keepAll() {
  removeRateAttr();
  removeSiteAttr();
}
void AttentionGradOp::place(Value words, int64_t samples, int64_t stride) {
  placeAt(*this, words, samples, stride);
}

//===----------------------------------------------------------------------===//
// Types of operands
//===----------------------------------------------------------------------===//

OperandType AttentionOp::operandType(OpOperand &operand) {
  const bool isProduct = &operand == &getQueryMutable() ||
                         &operand == &getKeyMutable() ||
                         &operand == &getValueMutable();
  return isProduct ? OperandType::Computed : OperandType::ComputedOrFloat32;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Pairs of a query row and a key row that meet, over all heads: half of the
/// square where it is causal.
template <typename Op> static int64_t attendedPairs(Op op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  const SeenKeys seen(op);
  int64_t pairs = 0;
  for (int64_t i = 0; i < seen.queries; ++i)
    pairs += seen.count(i);
  return pairs * query[0] * query[2];
}

/// Of one of them, whose key is drawn with three others.
template <typename Op> static int64_t flopsOfDrawing(Op op) {
  return op.getWords() || op.getSite() ? flopsOfWords / 4 : 0;
}

int64_t AttentionOp::flops() {
  // Two products, and a softmax of the scores.
  return attendedPairs(*this) *
         (2 * shapeOf(getQuery())[3] + 2 * shapeOf(getValue())[3] + 5 +
          flopsOfDrawing(*this));
}

int64_t AttentionGradOp::flops() {
  // The scores again and four products: dV = P^T dO, dP = dO V^T, dQ = dS K, dK
  // = dS^T Q.
  return attendedPairs(*this) *
         (6 * shapeOf(getQuery())[3] + 4 * shapeOf(getValue())[3] + 8 +
          flopsOfDrawing(*this));
}
